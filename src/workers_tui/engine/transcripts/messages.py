"""The one rule by which transcript lines become messages, each counted once.

- Claude Code writes a line per content block, each with the usage of the whole
  message. Lines of one message are those with the same message id and request
  id. Of every count the largest is taken, so a line that was written before
  the answer was complete bends nothing. A message none of whose lines has a
  stop reason was broken off: its output is a lower bound, and it is flagged.
- Where the endpoint sends no request id, lines belong together when message
  id, session and agent are the same, input and cache counts are equal, and the
  message so far has not ended (or the line's parent is one of its lines). So
  an endpoint that repeats its ids makes new messages, not one. A line without
  a message id stands alone.
- Resumed and forked sessions copy lines with all their ids, or at least their
  uuid, into a file of another session; main and subagent files may share lines.
  Such a line is the message it copies. It stays with the session that was seen
  with it first; among files read together that is the file that ended first.
- A message has the time of its first line, and so one day.
- All this holds among the directories of one reader: the manager's own, or one
  worker identity's. Ids of different identities say nothing about each other.
- Not counted: `<synthetic>` and API error messages, messages inside
  `progress` lines, usage inside tool results.
"""

from __future__ import annotations

from collections.abc import Iterable

from workers_tui.engine.transcripts.transcript_lines import FINISHED, Line, Loose, Message


def absorb(whole: Message, part: Message) -> None:
    """Make `whole` cover one more line, or a copy, of its message."""
    whole.input = max(whole.input, part.input)
    whole.output = max(whole.output, part.output)
    whole.creation = max(whole.creation, part.creation)
    whole.creation_1h = max(whole.creation_1h, part.creation_1h)
    whole.read = max(whole.read, part.read)
    whole.web = max(whole.web, part.web)
    whole.flags |= part.flags
    if whole.loose is not None and part.loose is not None:
        whole.loose.lines += part.loose.lines
        whole.loose.parents += part.loose.parents
        whole.loose.ended = whole.loose.ended or part.loose.ended


def continues(whole: Message, loose: Loose, part: Message) -> bool:
    """A line without a request id goes on with the message that its slot held last."""
    if (whole.input, whole.creation, whole.read) != (part.input, part.creation, part.read):
        return False
    return not loose.ended or bool(set(loose.lines).intersection(part_parents(part)))


def part_parents(part: Message) -> list[str]:
    """Names of the lines that the part's lines follow."""
    return part.loose.parents if part.loose is not None else []


class Grouping:
    """Lines of one file, in order, as messages."""

    def __init__(self) -> None:
        self._by_key: dict[str, Message] = {}
        self._by_slot: dict[str, Message] = {}
        self._before = Line()
        self._newest: Message | None = None

    def repeats(self, line: Line) -> bool:
        """Take a line that differs from the one before only in a longer output.

        Lines of one message mostly follow each other: this is all that most need.
        """
        before, self._before = self._before, line
        if line.request_id is None or line.request_id != before.request_id:
            return False
        now, then = line.message, before.message
        if now is None or then is None or now.id != then.id:
            return False
        usage, old = now.usage, then.usage
        if usage is None or old is None or self._newest is None:
            return False
        old.output_tokens = usage.output_tokens
        if usage != old:
            return False
        self._newest.output = max(self._newest.output, usage.output_tokens or 0)
        if now.stop_reason is not None:
            self._newest.flags |= FINISHED
        return True

    def add(self, part: Message) -> None:
        """Take one line's message."""
        known = self._by_key.get(part.key)
        loose = part.loose
        if known is None and loose is not None:
            known = self._goes_on(part, loose)
        if known is None:
            known = self._by_key[part.key] = part
        else:
            absorb(known, part)
        self._newest = known
        if loose is not None:
            self._by_key[loose.lines[0]] = self._by_slot[loose.slot] = known

    def _goes_on(self, part: Message, loose: Loose) -> Message | None:
        open_ = self._by_slot.get(loose.slot)
        if open_ is None or open_.loose is None or not continues(open_, open_.loose, part):
            return None
        return open_

    def messages(self) -> list[Message]:
        """Every message of the file, in order of its first line."""
        if not self._by_slot:
            return list(self._by_key.values())
        return list({message.key: message for message in self._by_key.values()}.values())


class Merging:
    """Messages of many files as one set; `links` leads from line names and slots to keys."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.links: dict[str, str] = {}

    def add(self, news: Iterable[Message]) -> list[Message]:
        """Take the messages of one file; returns those that no file before it had."""
        known, fresh = self.messages, list[Message]()
        for message in news:
            if message.loose is not None:
                whole = self._whole(message, message.loose)
            else:
                whole = known.setdefault(message.key, message)
            if whole is message:
                fresh.append(message)
            else:
                absorb(whole, message)
        return fresh

    def _whole(self, message: Message, loose: Loose) -> Message:
        """The message that has no request id as far as it is known, or this as a new one."""
        whole = self._copied(loose) or self._open(message, loose)
        if whole is None:
            whole = self.messages[message.key] = message
        for name in (*loose.lines, loose.slot):
            self.links[name] = whole.key
        return whole

    def _copied(self, loose: Loose) -> Message | None:
        keys = (self.links.get(name) for name in loose.lines)
        return next((self.messages[key] for key in keys if key is not None), None)

    def _open(self, message: Message, loose: Loose) -> Message | None:
        key = self.links.get(loose.slot)
        whole = self.messages.get(key) if key is not None else None
        if whole is None or whole.loose is None or not continues(whole, whole.loose, message):
            return None
        return whole
