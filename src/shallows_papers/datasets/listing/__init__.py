"""Listing, description and verification of datasets for the command line."""

from shallows.errors import MissingExtraError

MissingExtraError.check("data", "The list of datasets", "humanize")
