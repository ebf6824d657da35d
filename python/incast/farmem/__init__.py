"""Remote memory behind a local page cache: what distance costs programs, and which one gets which memory."""
