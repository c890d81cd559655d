"""Sets that are made up: small, seeded, with a known truth."""
