"""The terminal: input that survives any byte sequence, and the window's title.

Textual's own reader ends the program at the first byte that is not UTF-8 and
spins when the terminal is gone. This one reads on, and reports a hang-up once.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
import selectors
import signal
from threading import Thread
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from workers_tui.tui.shell import Shell

log = logging.getLogger(__name__)

CHUNK = 4_096
PUSH_TITLE, POP_TITLE = "\x1b[22;0t", "\x1b[23;0t"


class Terminal(LinuxDriver):
    """Textual's driver with a sturdier reader and a title."""

    def __init__(
        self,
        app: Shell,
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._owner = app
        self._title = ""
        self._gone = False
        self._reads = False
        self._suspended = False
        self.lent = False
        """Whether a pager has the terminal: signals from its keys are not for us."""
        app.terminal = self
        _between_two_steps(signal.SIGTSTP, signal.SIGCONT)

    def start_application_mode(self) -> None:
        """Keep the window's present title before ours replaces it."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write(PUSH_TITLE)
        if self._title:
            self.write(_title(self._title))

    def stop_application_mode(self) -> None:
        """Give the window its title back."""
        self.write(POP_TITLE)
        super().stop_application_mode()

    def suspend_application_mode(self) -> None:
        """Leave the terminal to the shell or a pager."""
        if not self._suspended:
            super().suspend_application_mode()
            self._suspended = True

    def resume_application_mode(self) -> None:
        """Take the terminal again, also after a stop that left no time to give it back.

        A second reader beside the first, or one after the end, would be Textual's way.
        """
        if self._reads:
            super().suspend_application_mode()
        elif self.lent or not self._suspended:
            return
        self._suspended = False
        super().resume_application_mode()

    def write(self, data: str) -> None:
        """Write, unless the terminal is gone or lent: its writer is dead, and its queue fills."""
        if not (self._gone or self._suspended):
            super().write(data)

    def set_title(self, title: str) -> None:
        """Name the window."""
        if title != self._title:
            self._title = title
            self.write(_title(title))

    def run_input_thread(self) -> None:
        """Let Textual read, from a pipe that only ever holds whole UTF-8 characters."""
        tty, (source, sink) = self.fileno, os.pipe()
        pump = Thread(target=self._pump, args=(tty, sink), name="terminal-input", daemon=True)
        self.fileno = source  # nobody else uses it while this thread runs
        self._reads = True
        pump.start()
        try:
            while not self.exit_event.is_set():
                self._read_on()
        finally:
            self._reads = False
            self.fileno = tty
            pump.join()
            os.close(source)
            os.close(sink)

    def _read_on(self) -> None:
        try:
            super().run_input_thread()
        except Exception:
            # The bytes are anybody's: what Textual's parser chokes on must not end the program.
            log.exception("the terminal sent something that cannot be read")

    def _pump(self, tty: int, sink: int) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with selectors.DefaultSelector() as selector:
            selector.register(tty, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if not selector.select(0.1):
                    continue
                data = _read(tty)
                if not data:
                    self._gone = True
                    _write_nowhere()
                    self._owner.hung_up()
                    return
                os.write(sink, decode(data).encode("utf-8", "replace"))


def _between_two_steps(*numbers: signal.Signals) -> None:
    """Let the loop call these signals' handlers.

    They write to the terminal. In the midst of a write they would wait for ever
    for the lock that it holds, or end a reader that is just being started.
    """
    loop = asyncio.get_running_loop()
    for number in numbers:
        handler = signal.getsignal(number)
        if callable(handler):
            loop.add_signal_handler(number, handler, number, None)


def _read(tty: int) -> bytes:
    """Bytes from the terminal; none when it vanished."""
    try:
        return os.read(tty, CHUNK)
    except OSError:
        return b""


def _write_nowhere() -> None:
    """Let writes succeed: an error would end Textual's writer, and a full queue block the loop."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)


def _title(text: str) -> str:
    return f"\x1b]0;{text}\x07"
