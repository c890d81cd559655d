"""Factor models of labels and of their co-occurrence."""
