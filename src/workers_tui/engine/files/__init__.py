"""What may be read, written and sent."""
