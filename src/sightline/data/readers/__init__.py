"""Data sets in folders: one module per kind, each with a function `read`."""
