"""Listing, description and verification of datasets for the command line."""
