"""`workers-tui login`: OpenRouter's browser flow, or a code to paste where there is no browser."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser

import click

from workers_tui.cli.common import Options, ask, open_engine, run_async
from workers_tui.engine.checks.login import (
    Callback,
    Challenge,
    exchange,
    login_page,
    make_challenge,
)
from workers_tui.engine.errors import UpstreamFailed, WrongUse
from workers_tui.engine.settings.keys import save_key
from workers_tui.engine.settings.providers import DEFAULT

FORBIDDEN = 403


@click.command()
@click.option(
    "--headless/--browser",
    default=None,
    help="Paste a code, or let a browser come back; without it, whichever fits this terminal.",
)
@click.pass_obj
def login(options: Options, headless: bool | None) -> int:
    """Get a key from OpenRouter without copying one."""
    return run_async(_login(options, headless=no_browser() if headless is None else headless))


def no_browser() -> bool:
    """Over ssh, or without a display, no browser of the user's can come back here."""
    if os.environ.get("BROWSER"):
        return False
    if os.environ.get("SSH_CONNECTION"):
        return True
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.platform.startswith("linux") and not display


async def _login(options: Options, *, headless: bool) -> int:
    async with open_engine(options, watch=False) as engine:
        provider = engine.providers.get(DEFAULT)
        home = engine.home
    challenge = make_challenge()
    flow = _by_code if headless else _by_browser
    save_key(home, DEFAULT, await flow(provider.base_url, challenge))
    click.echo(f"logged in: the key is kept in {home.keys_json}")
    if provider.key_env and os.environ.get(provider.key_env):
        click.echo(f"note: {provider.key_env} is set here and wins over it", err=True)
    return 0


async def _by_code(base_url: str, challenge: Challenge) -> str:
    click.echo(
        f"Open this page anywhere and log in:\n\n  {login_page(base_url, challenge, None)}\n"
    )
    code = ask("the code it shows").strip()
    if not code:
        raise WrongUse("no code was given: run login again and paste the one that the page shows")
    return await exchange(base_url, code, challenge)


async def _by_browser(base_url: str, challenge: Challenge) -> str:
    async with Callback() as callback:
        page = login_page(base_url, challenge, callback.url)
        click.echo(f"Log in in your browser; if none opens, open:\n\n  {page}\n")
        # Some browsers stay in the foreground: neither the loop nor the end waits for them.
        threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
        while True:
            try:
                return await exchange(base_url, await callback.code(), challenge)
            except UpstreamFailed as error:
                if error.status != FORBIDDEN:
                    raise
                click.echo("that code was not ours; still waiting", err=True)
