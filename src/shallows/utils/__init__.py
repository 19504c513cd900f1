"""Helpers without mathematics: files that are written whole or not at all, progress, memory limits, tables of names."""
