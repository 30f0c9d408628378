"""Endpoints and their keys: who is asked, with which key, and who is paused.

Keys come from the environment, then from keys.json (0600). They are never
logged, never shown, never put on the board; a project cannot change any of it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.errors import ConfigError, KeyRejected
from workers_tui.engine.events import Events, Level
from workers_tui.engine.settings.keys import can_be_sent, read_keys
from workers_tui.engine.settings.settings import ProviderSettings, Settings
from workers_tui.home.places import Home

DEFAULT = "openrouter"
DEFAULT_URL = "https://openrouter.ai/api/v1"
DEFAULT_KEY = "OPENROUTER_API_KEY"


@dataclass(frozen=True, slots=True)
class Provider:
    """One endpoint that speaks the chat-completions dialect."""

    name: str
    base_url: str
    """Without a slash at the end."""
    kind: str
    """openrouter or openai."""
    key_env: str | None
    """Environment variable that may hold the key."""
    plan: bool
    """A flat rate pays."""
    loopback: bool
    """It runs on this machine."""

    @property
    def routes(self) -> bool:
        """It takes OpenRouter's routing preferences, fallbacks and highest prices."""
        return self.kind == "openrouter"

    @property
    def free_unless_priced(self) -> bool:
        """A model server of this machine; a gateway to OpenRouter is none."""
        return self.loopback and not self.routes


@dataclass(frozen=True, slots=True)
class ProviderView:
    """What the board shows of a provider; never its key."""

    name: str
    base_url: str
    has_key: bool
    paused: str | None
    """Why nothing is sent to it until the user resumes."""
    loopback: bool


class Providers:
    """All endpoints by name."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        home: Home,
        environ: Mapping[str, str],
        board: Board,
        events: Events,
    ) -> None:
        self._settings = settings
        self._home = home
        self._environ = environ
        self._board = board
        self._events = events
        self._paused: dict[str, str] = {}
        self._known_by: Settings | None = None
        self._known: dict[str, Provider | None] = {}

    def find(self, name: str) -> Provider | None:
        """The provider, or None when nothing usable has this name."""
        settings = self._settings()
        if settings is not self._known_by:
            self._known_by, self._known = settings, {}
        if name not in self._known:
            self._known[name] = self._look_up(name)
        return self._known[name]

    def _look_up(self, name: str) -> Provider | None:
        found = self._described(name)
        if found is None or not found.base_url or not is_address(found.base_url):
            return None
        url = found.base_url.rstrip("/")
        return Provider(name, url, found.kind, found.api_key_env, found.plan, is_loopback(url))

    def get(self, name: str) -> Provider:
        """The provider. Raises ConfigError when it is not there or has no address."""
        provider = self.find(name)
        if provider is not None:
            return provider
        found = self._described(name)
        if found is not None and found.base_url:
            raise ConfigError(
                f"{found.base_url!r} is no address for provider {name!r}: it must look like "
                f"{DEFAULT_URL}"
            )
        if found is not None:
            raise ConfigError(f"provider {name!r} has no `base_url` in models.json")
        raise ConfigError(f"there is no provider {name!r} in models.json under `providers`")

    def all(self) -> list[Provider]:
        """Every usable provider, the built-in one first."""
        found = [self.find(name) for name in self.names()]
        return [provider for provider in found if provider is not None]

    def names(self) -> list[str]:
        """Names of the built-in provider and of those in models.json."""
        return list(dict.fromkeys([DEFAULT, *self._settings().providers]))

    def _described(self, name: str) -> ProviderSettings | None:
        given = self._settings().providers.get(name)
        if name != DEFAULT:
            return given
        given = given or ProviderSettings(kind="openrouter")
        url = self._environ.get("OPENROUTER_BASE_URL") or given.base_url or DEFAULT_URL
        update = {"base_url": url, "api_key_env": given.api_key_env or DEFAULT_KEY}
        if "kind" not in given.model_fields_set:
            update["kind"] = "openrouter"
        return given.model_copy(update=update)

    def key(self, name: str) -> str | None:
        """The key, or None when the provider needs none. Raises KeyRejected when it is missing."""
        provider = self.get(name)
        key = self._kept_key(provider)
        if key is None and not provider.loopback:
            places = f" or set {provider.key_env} where it runs" if provider.key_env else ""
            raise KeyRejected(
                f"there is no key for {name}: run `workers-tui key set {name}`{places}"
            )
        fault = self.fault(provider)
        if fault:
            raise KeyRejected(f"the key for {name} {fault}: {self.mending(provider)}")
        return key

    def fault(self, provider: Provider) -> str | None:
        """Why its key cannot be sent; None when it can be, or when there is none."""
        key = self._kept_key(provider)
        if key is None or can_be_sent(key):
            return None
        return "holds blanks, line ends or special characters inside"

    def mending(self, provider: Provider) -> str:
        """What to do about a key that is not taken: a variable wins over what is kept."""
        command = f"run `workers-tui key set {provider.name}`"
        if self._named_key(provider):
            return f"correct {provider.key_env} where it is set, or unset it and {command}"
        return command

    def key_or_none(self, provider: Provider) -> str | None:
        """The key, when there is one that can be sent."""
        key = self._kept_key(provider)
        return key if key is not None and can_be_sent(key) else None

    def _kept_key(self, provider: Provider) -> str | None:
        """The key from the environment, else from keys.json."""
        return self._named_key(provider) or read_keys(self._home).get(provider.name)

    def _named_key(self, provider: Provider) -> str:
        """The key that the provider's variable holds."""
        return self._environ.get(provider.key_env, "").strip() if provider.key_env else ""

    def pause(self, name: str, why: str) -> None:
        """Send nothing to a provider until the user resumes; said once."""
        if name not in self._paused:
            self._events.tell("provider", f"{name} is paused: {why}", level=Level.ERROR)
        self._paused[name] = why
        self.show()

    def resume(self, name: str | None = None) -> None:
        """Send again to one provider, or to all."""
        for paused in [name] if name else list(self._paused):
            if self._paused.pop(paused, None) is not None:
                self._events.tell("provider", f"{paused} is used again")
        self.show()

    def paused(self, name: str) -> str | None:
        """Why the provider is paused, or None."""
        return self._paused.get(name)

    def show(self) -> None:
        """Put every provider on the board as it is now."""
        for provider in self.all():
            view = ProviderView(
                provider.name,
                provider.base_url,
                self.key_or_none(provider) is not None,
                self._paused.get(provider.name),
                provider.loopback,
            )
            self._board.put(Key(Topic.PROVIDER, provider.name), view)
        for name in set(self._board.names(Topic.PROVIDER)) - set(self.names()):
            self._board.drop(Key(Topic.PROVIDER, name))


def is_address(url: str) -> bool:
    """True for an http or https address with a host."""
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_loopback(url: str) -> bool:
    """True when the address lies on this machine."""
    if not is_address(url):
        return False
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
