"""The agent workers: a list above what is known about one of them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from workers_tui.engine.board import Key, Topic
from workers_tui.tui import safe, words
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.one_line import ListHead
from workers_tui.tui.panes.workers import WorkerFacts, WorkerList
from workers_tui.tui.screens.moves import Moves


class WorkersScreen(Moves):
    """Identities, never their keys."""

    BINDINGS = bindings("open", "back")

    def body(self) -> ComposeResult:
        """List and facts."""
        with Container(id="columns"):
            listed = WorkerList()
            head = ListHead(listed.head)
            yield Frame("Workers", head, listed, id="workers", corners=("top", "top"))
            yield Frame("Worker", WorkerFacts(), id="worker", corners=("seam", "seam"))

    def opened(self) -> None:
        """The list has the focus."""
        self.query_one(WorkerList).focus()
        self._show_workers()

    def hidden_hints(self) -> AbstractSet[str]:
        """Nothing to open without a worker."""
        return frozenset() if self.query_one(WorkerList).identities else frozenset({"open"})

    def show(self, keys: AbstractSet[Key]) -> None:
        """Hand on what changed."""
        self.show_spend(keys)
        if any(key.topic is Topic.WORKER for key in keys):
            self._show_workers()

    def _show_workers(self) -> None:
        board = self.board
        if board is None:
            return
        views = [board.get(Key(Topic.WORKER, name)) for name in board.names(Topic.WORKER)]
        self.query_one(WorkerList).show(views)
        month = words.money(sum(view.month_pico for view in views))
        said = [words.plural(len(views), "agent worker")] if views else []
        self.query_one("#workers", Frame).tell(*said, note=[f"{month} this month"] if views else [])
        self._show_facts()
        self.update_hints()

    @on(LineView.Moved)
    def _show_facts(self) -> None:
        worker = self.query_one(WorkerList).selected
        self.query_one(WorkerFacts).show(worker)
        frame = self.query_one("#worker", Frame)
        self.set_class(worker is None, "-alone")
        if worker is not None:
            frame.tell(worker.state, name=safe.one_line(worker.name))
        self.query_one(ListHead).refresh()

    @on(LineView.Chosen)
    def action_open(self) -> None:
        """The jobs of the worker."""
        worker = self.query_one(WorkerList).selected
        if worker is not None:
            from workers_tui.tui.screens.history import HistoryScreen  # loaded when first wanted

            self.app.push_screen(HistoryScreen(f"worker:{worker.name}"))
