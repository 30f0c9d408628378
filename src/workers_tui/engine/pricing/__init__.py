"""What a model costs, and who says so."""
