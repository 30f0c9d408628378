"""Jobs: their values, states, table and result files."""
