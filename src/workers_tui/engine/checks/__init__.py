"""What `doctor` and `login` look at."""
