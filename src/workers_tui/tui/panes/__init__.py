"""Panes: given a noun, they show it. They ask nobody and know no engine."""
