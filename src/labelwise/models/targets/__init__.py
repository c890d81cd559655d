"""`OrthogonalTargetGP` (CS-BPCA-GP): compressed sensing, Bayesian PCA, one Gaussian process per target."""
