"""Telling people what came out: a table and a message for a terminal, a page for a browser."""
