"""Synthetic data with a long tail."""
