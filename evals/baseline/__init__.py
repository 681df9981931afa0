"""Accepted measurements, kept as small files, and runs that are held against them."""
