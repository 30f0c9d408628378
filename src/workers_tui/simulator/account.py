"""The account's side: models, key figures, bills by id, and both ways to log in."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workers_tui.simulator.bills import BillBook, bill_json
from workers_tui.simulator.catalogue import MODELS
from workers_tui.simulator.http import Reply, Request, json_reply

CODE_LIFE = 600.0


def _error(status: int, message: str) -> Reply:
    return json_reply({"error": {"code": status, "message": message}}, status)


@dataclass(frozen=True, slots=True)
class Login:
    """A code that waits to be exchanged for a key."""

    challenge: str
    method: str
    until: float


class Account:
    """One account with one bill book."""

    def __init__(self, book: BillBook, limit: Decimal | None) -> None:
        self._book = book
        self.limit = limit
        self._logins: dict[str, Login] = {}
        self.keys: set[str] = set()

    @property
    def exhausted(self) -> bool:
        """The key's limit is used up."""
        return self.limit is not None and self._book.cost >= self.limit

    def models(self) -> Reply:
        return json_reply({"data": [model.listed() for model in MODELS]})

    def key(self) -> Reply:
        used = float(self._book.cost)
        limit = None if self.limit is None else float(self.limit)
        left = None if self.limit is None else max(0.0, float(self.limit - self._book.cost))
        figures = dict.fromkeys(("usage", "usage_daily", "usage_weekly", "usage_monthly"), used)
        data = {
            "label": "sk-or-v1-sim...000",
            "limit": limit,
            "limit_remaining": left,
            "limit_reset": None,
            "include_byok_in_limit": False,
            **figures,
            "byok_usage": 0,
            "is_free_tier": False,
            "is_management_key": False,
            "expires_at": None,
            "rate_limit": {"requests": -1, "interval": "10s", "note": "deprecated"},
        }
        return json_reply({"data": data})

    def credits(self) -> Reply:
        return _error(403, "Only management keys can perform this operation")

    def generation(self, request: Request) -> Reply:
        name = request.query.get("id", "")
        bill = self._book.ask(name)
        if bill is None:
            return _error(404, f"Generation {name} not found")
        total = bill.byok_cost if bill.byok_cost is not None else bill.cost
        data: dict[str, Any] = {
            "id": bill.id,
            "model": bill.model,
            "provider_name": bill.provider,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(bill.at)),
            "streamed": bill.streamed,
            "cancelled": bill.cancelled,
            "finish_reason": bill.finish,
            "native_finish_reason": bill.finish,
            "total_cost": float(bill.cost),
            "usage": float(bill.cost),
            "upstream_inference_cost": None if bill.byok_cost is None else float(total),
            "is_byok": bill.byok_cost is not None,
            "cache_discount": None,
            "tokens_prompt": bill.prompt,
            "tokens_completion": bill.completion,
            "native_tokens_prompt": bill.prompt,
            "native_tokens_completion": bill.completion,
            "native_tokens_reasoning": bill.reasoning,
            "native_tokens_cached": bill.cached,
            "latency": 100,
            "generation_time": bill.ms,
            "session_id": bill.session,
        }
        return json_reply({"data": data})

    def bills(self) -> Reply:
        """GET /sim/bills: the whole book, which the original would never show."""
        total = format(self._book.cost.normalize(), "f")
        return json_reply({"total": total, "bills": [bill_json(bill) for bill in self._book.all()]})

    def authorize(self, request: Request) -> Reply:
        """GET /auth: says yes at once; to the callback, or with a code to paste."""
        challenge = request.query.get("code_challenge", "")
        method = request.query.get("code_challenge_method", "plain")
        code = "auth_" + secrets.token_hex(8)
        self._logins[code] = Login(challenge, method, time.monotonic() + CODE_LIFE)
        back = request.query.get("callback_url")
        if back:
            joint = "&" if "?" in back else "?"
            return Reply(302, b"", (("location", f"{back}{joint}code={code}"),), "text/plain")
        page = f"<html><body>Paste this code: <code>{code}</code></body></html>"
        return Reply(200, page.encode(), content_type="text/html")

    def exchange(self, request: Request) -> Reply:
        """POST /auth/keys: a code and its verifier become a key, once."""
        if request.method != "POST":
            return _error(405, "Method Not Allowed")
        raw = request.json()
        raw = raw if isinstance(raw, dict) else {}
        login = self._logins.pop(str(raw.get("code")), None)
        if login is None or login.until < time.monotonic():
            return _error(403, "Invalid code or code_verifier")
        if login.challenge and raw.get("code_challenge_method") != login.method:
            return _error(400, "Invalid code_challenge_method")
        if (
            login.challenge
            and _challenge(str(raw.get("code_verifier")), login.method) != login.challenge
        ):
            return _error(403, "Invalid code or code_verifier")
        key = "sk-or-v1-" + secrets.token_hex(32)
        self.keys.add(key)
        return json_reply({"key": key, "user_id": "user_sim"})


def _challenge(verifier: str, method: str) -> str:
    if method == "plain":
        return verifier
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
