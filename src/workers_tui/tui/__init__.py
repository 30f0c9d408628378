"""The dashboard: Textual app, screens and panes. It shows the board and calls the engine."""
