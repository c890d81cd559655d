"""Expectation propagation for linear classifiers."""
