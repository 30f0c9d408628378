"""models.json, keys and providers."""
