"""The command line: it chooses a front end and wires it."""
