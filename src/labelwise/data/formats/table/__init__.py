"""Tables (csv, jsonl, parquet): which column holds the text, the labels, the features."""
