"""`LabelMixtureGP` (GP-B²M): a Bernoulli mixture of labels with Gaussian-process gates."""
