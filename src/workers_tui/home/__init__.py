"""Where things lie on disk, and how they are written. Standard library only."""
