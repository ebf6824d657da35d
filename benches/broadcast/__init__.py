"""One file to many hosts over links with limited rates: incast broadcast beside other programs."""
