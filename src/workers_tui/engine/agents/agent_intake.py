"""Checks what is asked of agents, before a job exists, and makes a plan of it.

Everything that can be refused is refused here, by name: worker, model, tools,
permission mode, directories, prompt, a session that is still at work.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, replace

from workers_tui.engine.agents.agent_launch import claude_program
from workers_tui.engine.agents.agent_request import (
    AgentRequest,
    FollowUp,
    check_model,
    check_words,
    directory_for,
    mode_for,
    tools_for,
    turns_for,
)
from workers_tui.engine.agents.agent_sessions import Session, Sessions
from workers_tui.engine.agents.identities import Identities
from workers_tui.engine.agents.identity import Identity
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.errors import PaymentRequired, UnknownJob, WrongUse
from workers_tui.engine.files.sandbox import Sandbox
from workers_tui.engine.jobs.job import LIVE, JobKind, Origin
from workers_tui.engine.settings.settings import AgentRules

LIVE_SEEN = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked request."""

    session: Session
    identity: Identity
    prompt: str
    resume: bool
    parent: str | None = None


class Intake:
    """Makes plans of requests."""

    def __init__(self, parts: Parts, identities: Identities, sessions: Sessions) -> None:
        self._parts = parts
        self.identities = identities
        self.sessions = sessions

    async def start(self, request: AgentRequest, origin: Origin) -> Plan:
        """A plan for a new session. Raises WorkersError."""
        check_words(request)
        await self._ready()
        rules = self._rules
        identity = self._usable(request.worker or rules.default_worker)
        model = request.model or rules.default_model or identity.model
        small = request.small_model or rules.small_model or identity.small_model
        session = Session(
            id=str(uuid.uuid4()),
            worker=identity.name,
            cwd=str(directory_for(request.cwd, origin.roots)),
            model=check_model(rules, model),
            small_model=check_model(rules, small),
            tools=tools_for(rules, request.allowed_tools, request.disallowed_tools),
            allowed=request.allowed_tools,
            disallowed=request.disallowed_tools,
            permission_mode=mode_for(rules, request.permission_mode),
            max_turns=turns_for(rules, request.max_turns),
            add_dirs=tuple(
                str(directory_for(one, origin.roots, "add_dirs")) for one in request.add_dirs
            ),
            append_system_prompt=request.append_system_prompt,
        )
        prompt = await self._prompt(request.prompt, request.prompt_file, origin)
        await asyncio.to_thread(self.sessions.keep, session)
        return Plan(session, identity, prompt, resume=False)

    async def followup(self, request: FollowUp, origin: Origin) -> Plan:
        """A plan for a further prompt of a session. Raises WorkersError."""
        check_words(request)
        await self._ready()
        session_id, parent = await self._session_of(request.target)
        session = await asyncio.to_thread(self.sessions.load, session_id)
        session = _held_to(self._rules, session, request)
        for place in (session.cwd, *session.add_dirs):
            directory_for(place, origin.roots)
        identity = self._usable(session.worker)
        prompt = await self._prompt(request.prompt, request.prompt_file, origin)
        return Plan(session, identity, prompt, resume=True, parent=parent)

    def _usable(self, name: str | None) -> Identity:
        identity = self.identities.usable(name)
        why = self._parts.providers.paused(identity.name)
        if why is not None:
            raise PaymentRequired(
                f"worker {identity.name} is paused ({why}); resume it with p in the dashboard"
            )
        return identity

    async def _ready(self) -> None:
        await self._parts.config.refresh()
        self._parts.config.usable()
        claude_program(self._parts.environ)

    @property
    def _rules(self) -> AgentRules:
        return self._parts.config.settings.agents

    async def _session_of(self, target: str) -> tuple[str, str | None]:
        """The session meant, and the job that was named."""
        try:
            job = await self._parts.jobs.get(target)
        except UnknownJob:
            return await self._free(self.sessions.directory(target).name), None
        if job.agent_session is None:
            raise WrongUse(f"job {job.id} is a {job.kind.value}: only agents can go on")
        if not job.state.ended:
            raise WrongUse(f"job {job.id} is still at work: wait for it or cancel it first")
        return await self._free(job.agent_session), job.id

    async def _free(self, session: str) -> str:
        """The session, when no engine of the user is at work on it."""
        for job in await self._parts.jobs.find(state=LIVE, kind=JobKind.AGENT, limit=LIVE_SEEN):
            if job.agent_session == session:
                raise WrongUse(f"job {job.id} is still at work: wait for it or cancel it first")
        return session

    async def _prompt(self, prompt: str | None, file: str | None, origin: Origin) -> str:
        if (prompt is None) == (file is None):
            raise WrongUse("give either `prompt` or `prompt_file`")
        if file is not None:
            prompt = await self._read_prompt(file, origin)
        if prompt is None or not prompt.strip():
            raise WrongUse("the prompt is empty: say what the agent is to do")
        return prompt.encode("utf-8", "replace").decode()

    async def _read_prompt(self, file: str, origin: Origin) -> str:
        settings, home = self._parts.config.settings, self._parts.home
        sandbox = Sandbox(
            origin.roots,
            deny_read=settings.deny_read,
            deny_write=settings.deny_write,
            allow=settings.allow_secrets,
            private=(home.config, home.state),
        )
        pieces = await sandbox.read([file], max_file_bytes=settings.max_file_bytes)
        if len(pieces) != 1 or pieces[0].cut:
            raise WrongUse(f"prompt_file {file} is not one file within `max_file_bytes`")
        return pieces[0].text


def _held_to(rules: AgentRules, session: Session, request: FollowUp) -> Session:
    """The session under the rules of today, which may have changed. Raises WorkersError."""
    tools = tools_for(rules, session.allowed, session.disallowed)
    mode = request.permission_mode
    if mode is None and session.permission_mode != rules.permission_mode:
        mode = session.permission_mode
    check_model(rules, session.model)
    check_model(rules, session.small_model)
    return replace(
        session,
        tools=tuple(name for name in session.tools if name in tools),
        permission_mode=mode_for(rules, mode),
        max_turns=min(session.max_turns, rules.max_turns)
        if request.max_turns is None
        else turns_for(rules, request.max_turns),
    )
