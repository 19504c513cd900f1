"""Helpers: atomic files, progress, memory limits, tables of names, parameters, compiled loops."""
