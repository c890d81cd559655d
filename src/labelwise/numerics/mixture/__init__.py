"""Bernoulli mixtures of labels and their gates."""
