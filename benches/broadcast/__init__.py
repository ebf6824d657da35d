"""One file to many hosts over links with limited rates: incast broadcast compared with other programs."""
