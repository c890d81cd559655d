"""Label codes, and labels recovered from them; Bayesian PCA of codes."""
