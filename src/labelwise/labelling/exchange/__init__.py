"""Answers, items and predictions from and to files and Label Studio."""
