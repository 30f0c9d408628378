"""A provider look-alike on loopback: the demo's upstream and the tests' peer."""
