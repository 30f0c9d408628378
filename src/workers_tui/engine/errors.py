"""Every error the engine raises on purpose, in one tree.

    WorkersError                what happened and what to do, in one line
    ├── WrongUse                the caller asked for something that is not there (exit 2)
    │   ├── UnknownJob
    │   └── UnknownTier
    ├── ConfigError             a settings file cannot be used (exit 2)
    ├── Refused                 a rule said no; nothing was sent (exit 3)
    │   ├── BudgetRefused       the cap, or a price that is not known
    │   ├── SandboxRefused      a path outside the roots or on a deny list
    │   ├── SecretsRefused      found secrets that the user did not accept
    │   └── PolicyRefused       delegation off, an argument beyond the user's settings
    ├── WorkFailed              the work was tried and did not succeed (exit 1)
    │   ├── UpstreamFailed      the provider said no, broke off or could not be reached
    │   │   ├── KeyRejected     401: missing or wrong key
    │   │   └── PaymentRequired 402 or the key's own limit: the provider pauses
    │   ├── Incomplete          the answer ended early; what came is kept
    │   ├── JobCancelled
    │   └── JobLost             the engine that ran it died
    └── StoreError              the store cannot be used (exit 1)
        ├── StoreNewer          a newer program wrote it: restart
        └── StoreUnusable       disk full, read-only, locked, network file system

`exit_code` is what the command line returns for each (contract 4.1).
"""

from __future__ import annotations

from typing import ClassVar


class WorkersError(Exception):
    """Base of all. `str(error)` is one line: what happened, why, what to do."""

    exit_code: ClassVar[int] = 1


class WrongUse(WorkersError):
    """The caller asked for something that does not exist or makes no sense."""

    exit_code = 2


class UnknownJob(WrongUse):
    """No job has this id."""


class UnknownTier(WrongUse):
    """No tier has this name."""


class ConfigError(WorkersError):
    """A settings file cannot be read or means nothing."""

    exit_code = 2


class Refused(WorkersError):
    """A rule said no before anything left the machine."""

    exit_code = 3


class BudgetRefused(Refused):
    """The daily cap has no room, or the price is not known."""


class SandboxRefused(Refused):
    """The path lies outside the roots or on a deny list."""


class SecretsRefused(Refused):
    """Secrets were found and the user did not accept sending them."""


class PolicyRefused(Refused):
    """Delegation is off, or an argument goes beyond the user's settings."""


class WorkFailed(WorkersError):
    """The work was tried and did not succeed. Money may have been spent."""


class UpstreamFailed(WorkFailed):
    """The provider refused, broke off or could not be reached.

    `status` is the HTTP status (None when no answer came), `retryable` says
    whether the same request may be sent again, `retry_after` is the provider's
    hint in seconds, `generation_id` names the bill to ask for later.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        generation_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.generation_id = generation_id


class KeyRejected(UpstreamFailed):
    """The provider does not know the key, or there is none."""


class PaymentRequired(UpstreamFailed):
    """The account or the key has no money left: the provider pauses."""


class Incomplete(WorkFailed):
    """The answer ended before it was finished; the part that came is kept."""


class JobCancelled(WorkFailed):
    """The job was cancelled."""

    exit_code = 130


class JobLost(WorkFailed):
    """The engine that ran the job died; what it had received is kept."""


class StoreError(WorkersError):
    """The store cannot be used."""


class StoreNewer(StoreError):
    """A newer program wrote the store."""


class StoreUnusable(StoreError):
    """The disk is full, read-only, locked, or a network file system."""
