"""`python -m labelwise` is the command `labelwise`."""

from labelwise.cli import main

main()
