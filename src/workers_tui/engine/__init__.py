"""Money, jobs, files and upstreams. No terminal, no web framework, no command line."""
