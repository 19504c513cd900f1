"""Machines whose size is fixed before the fit: budgets of support vectors, of hyperplanes, and of landmarks."""
