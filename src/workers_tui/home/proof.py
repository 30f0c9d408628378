"""Proof that a server knows the user's token, given without showing it.

A port in server.json may have passed to a stranger since. So a client first
sends a nonce, and sends the token only to a server whose answer fits.
"""

from __future__ import annotations

import hashlib
import hmac

PURPOSE = b"workers-tui server proof:"


def prove(token: str, nonce: str) -> str:
    """The answer to this nonce of one who knows the token."""
    return hmac.new(token.encode(), PURPOSE + nonce.encode(), hashlib.sha256).hexdigest()


def proves(token: str, nonce: str, answer: str) -> bool:
    """Whether the answer was made with the token."""
    return hmac.compare_digest(prove(token, nonce).encode(), answer.encode())
