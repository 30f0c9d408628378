"""Claude Code's transcripts, read once, and the savings folded from them."""
