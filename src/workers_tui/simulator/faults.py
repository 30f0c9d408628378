"""Errors that come instead of an answer, in the shapes seen in the field.

One table of status, message, error type and further members; OpenRouter's and
Anthropic's envelopes are put around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers_tui.simulator.http import Reply, json_reply
from workers_tui.simulator.scenario import Behaviour

DOCS = "https://example.invalid/docs/errors"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One error as a provider would send it."""

    status: int
    message: str
    kind: str
    """OpenRouter's `error_type`."""
    metadata: Mapping[str, Any] | None = None
    availability: Mapping[str, Any] | None = None
    coded: bool = True
    """Whether `error.code` is there."""


PLAIN = {
    "400": Trouble(400, "messages: at least one message is required", "invalid_request"),
    "401": Trouble(401, "User not found.", "authentication"),
    "402": Trouble(
        402,
        "This request requires more credits, or fewer max_tokens. You requested up to 4000 tokens,"
        " but can only afford 1210. To increase, visit the credits page and add more credits",
        "payment_required",
        {"provider_name": None},
    ),
    "403": Trouble(403, "Access is not allowed in your region", "permission_denied"),
    "404": Trouble(404, "No endpoints found matching your data policy", "not_found"),
    "408": Trouble(408, "The request timed out", "timeout"),
    "413": Trouble(413, "Request body too large", "payload_too_large"),
    "429": Trouble(429, "Rate limit exceeded", "rate_limit_exceeded"),
    "500": Trouble(500, "Internal Server Error", "server"),
    "502": Trouble(
        502, "Provider returned error", "provider_unavailable", {"provider_name": "SimHost"}
    ),
    "503": Trouble(503, "All providers are overloaded", "provider_overloaded"),
    "504": Trouble(504, "The provider did not answer in time", "timeout"),
    "529": Trouble(529, "Overloaded", "provider_overloaded"),
    "unknown-model": Trouble(400, "{model} is not a valid model ID", "invalid_request"),
    "context-400": Trouble(
        400,
        "This endpoint's maximum context length is 131072 tokens. However, you requested about"
        " 190000 tokens. Please reduce the length",
        "context_length_exceeded",
    ),
    "moderation-403": Trouble(
        403,
        "{model} requires moderation on SimHost. Your input was flagged",
        "permission_denied",
        {
            "reasons": ["violence"],
            "flagged_input": "the task",
            "provider_name": "SimHost",
            "model_slug": "{model}",
        },
    ),
    "key-403": Trouble(
        403, "Key limit exceeded (total limit). Manage it in the settings", "permission_denied"
    ),
    "free-429": Trouble(
        429,
        "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model"
        " requests per day",
        "rate_limit_exceeded",
        {"provider_name": None},
    ),
    "raw-429": Trouble(
        429,
        "Provider returned error",
        "rate_limit_exceeded",
        {
            "raw": "{model} is temporarily rate-limited upstream. Please retry shortly",
            "provider_name": "SimHost",
            "limit_source": "upstream_provider_shared_pool",
            "remedy_hint": "Retry shortly, or route to another provider",
        },
    ),
    "privacy-404": Trouble(
        404,
        "No endpoints for {model} fit your data policy",
        "not_found",
        availability={
            "code": "privacy_restricted",
            "retryable": False,
            "requested_models": ["{model}"],
            "excluded_by": ["data_policy:training"],
            "docs_url": DOCS,
        },
        coded=False,
    ),
    "capacity-429": Trouble(
        429,
        "{model} has no free capacity now",
        "rate_limit_exceeded",
        availability={
            "code": "capacity_exhausted",
            "retryable": True,
            "retry_after": 1,
            "requested_models": ["{model}"],
            "affected_providers": ["SimHost"],
            "docs_url": DOCS,
        },
        coded=False,
    ),
    "unavailable-503": Trouble(
        503,
        "{model} is temporarily unavailable",
        "provider_overloaded",
        availability={
            "code": "temporarily_unavailable",
            "retryable": True,
            "requested_models": ["{model}"],
            "docs_url": DOCS,
        },
        coded=False,
    ),
    "error-200": Trouble(
        200, "Upstream error from SimHost: backend connection failed", "provider_unavailable"
    ),
}

PAGE = (
    "<!DOCTYPE html><html><head><title>{status} | Error</title></head>"
    "<body><h1>Bad gateway</h1><p>The web server reported a bad gateway error.</p></body></html>"
)

ANTHROPIC_TYPES = {
    "authentication": "authentication_error",
    "permission_denied": "permission_error",
    "payment_required": "billing_error",
    "not_found": "not_found_error",
    "rate_limit_exceeded": "rate_limit_error",
    "provider_overloaded": "overloaded_error",
    "timeout": "timeout_error",
    "payload_too_large": "request_too_large",
    "invalid_request": "invalid_request_error",
    "context_length_exceeded": "invalid_request_error",
}


def _filled(value: Any, model: str) -> Any:
    if isinstance(value, str):
        return value.replace("{model}", model)
    if isinstance(value, Mapping):
        return {key: _filled(one, model) for key, one in value.items()}
    return [_filled(one, model) for one in value] if isinstance(value, list) else value


def hints(how: Behaviour) -> tuple[tuple[str, str], ...]:
    """Headers that say when to come again."""
    found = [] if how.retry_after is None else [("retry-after", how.retry_after)]
    if how.reset_ms is not None:
        found += [
            ("x-ratelimit-limit", "20"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", str(how.reset_ms)),
        ]
    return tuple(found) + how.headers


def html_page(fault: str) -> Reply:
    """What a web front end sends in the API's name."""
    status = int(fault.partition("-")[2])
    return Reply(
        status, PAGE.format(status=status).encode(), content_type="text/html; charset=utf-8"
    )


def chat_trouble(how: Behaviour, model: str) -> Reply:
    """The fault of this behaviour in OpenRouter's envelope."""
    if how.fault.startswith("html-"):
        return html_page(how.fault)
    trouble = PLAIN[how.fault]
    error: dict[str, Any] = {"message": how.message or _filled(trouble.message, model)}
    if trouble.coded:
        error["code"] = 502 if trouble.status == 200 else trouble.status
    else:
        error |= {"error_type": trouble.kind, "http_status": trouble.status}
    metadata = dict(_filled(trouble.metadata or {}, model))
    if how.reset_ms is not None:
        metadata["headers"] = {
            "X-RateLimit-Limit": "50",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": str(how.reset_ms),
        }
    if metadata:
        error["metadata"] = metadata
    if trouble.availability:
        error["availability"] = _filled(trouble.availability, model)
    return json_reply({"error": error, "user_id": "user_sim"}, trouble.status, hints(how))


def messages_trouble(how: Behaviour, model: str) -> Reply:
    """The fault of this behaviour in Anthropic's envelope."""
    if how.fault.startswith("html-"):
        return html_page(how.fault)
    trouble = PLAIN[how.fault]
    error = {
        "type": ANTHROPIC_TYPES.get(trouble.kind, "api_error"),
        "message": how.message or _filled(trouble.message, model),
    }
    body = {"type": "error", "error": error, "request_id": None}
    return json_reply(body, trouble.status, hints(how))
