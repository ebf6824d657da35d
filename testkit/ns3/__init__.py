"""ns-3 as a peer: the driver program, how it is built, and its case files."""
