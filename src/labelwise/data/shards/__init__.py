"""Pools that are larger than memory: a folder of files, read block by block."""
