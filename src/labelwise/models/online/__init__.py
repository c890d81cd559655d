"""`OnlineBayes` (BOMC): linear classifiers by expectation propagation, in one pass."""
