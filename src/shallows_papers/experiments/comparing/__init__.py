"""Comparing: published values beside measured ones, each with a verdict."""
