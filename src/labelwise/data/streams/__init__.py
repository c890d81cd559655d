"""Files read batch by batch, in one pass and bounded memory; how a format is walked stands in its file in `formats`."""
