"""Headless Claude Code workers: identities, child processes, metered requests."""
