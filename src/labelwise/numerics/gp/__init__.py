"""Gaussian processes: kernels, solvers, evidence and its search, feature spaces."""
