"""Label factors (ML-LCS): `CooccurrenceFactors`, `CooccurrenceTransfer`, `LatentFactors`."""
