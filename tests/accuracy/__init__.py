"""The gates: what a server must reach before a merge."""
