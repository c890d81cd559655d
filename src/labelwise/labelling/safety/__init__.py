"""Backup, restore and verification of projects."""
