"""What Claude Code's hooks run. Standard library only, fail open always."""
