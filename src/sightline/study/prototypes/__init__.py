"""Runs of prototype analyses: settings, plan, parts, files."""
