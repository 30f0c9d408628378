"""What a call has used and cost so far, over its attempts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workers_tui.engine.money import Cost
from workers_tui.engine.spending.entry import Entry
from workers_tui.engine.spending.job_costs import add_costs
from workers_tui.engine.usage import Usage


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over the attempts that may be billed."""

    usage: Usage = Usage()
    costs: tuple[Cost, ...] = ()
    model: str | None = None
    """That served last."""

    def plus(self, entry: Entry) -> Tally:
        """With one more attempt."""
        return Tally(self.usage + entry.usage, (*self.costs, entry.cost), entry.model)

    @property
    def changes(self) -> dict[str, Any]:
        """As the job says it."""
        return {"usage": self.usage, "cost": add_costs(self.costs), "model": self.model}
