"""`CompressedLabelGP` (MIML, BML-CS): compressed labels, a Gaussian process, sparse Bayesian recovery."""
