"""One file or folder per format; `registry` holds the suffixes that `read` and `write` go by."""
