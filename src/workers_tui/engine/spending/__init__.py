"""Money set aside and booked: the cap, the ledger, usage.jsonl, bills asked for later."""
