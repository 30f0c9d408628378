"""An OpenRouter and Anthropic-messages look-alike on loopback.

The demo's upstream and the tests' peer: it knows nothing of the engine, answers
by a scenario, misbehaves on request and keeps a book of everything it billed.
"""
