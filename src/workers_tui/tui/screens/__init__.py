"""Screens: they place panes, hand them nouns and turn keys into verbs of the engine."""
