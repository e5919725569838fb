"""The routes, by subject; each module has a `router`."""
