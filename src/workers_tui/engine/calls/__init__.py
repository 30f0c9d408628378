"""One task to one model: from the queue to a paid answer."""
