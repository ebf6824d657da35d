"""`python -m incast`."""

from incast.cli import main

main()
