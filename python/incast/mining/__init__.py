"""Association rules from transactions that people bring: read, mined, and given as frames or files.

`incast.mining.run` does all of it; the work is the core's (crates/mine). `incast.mining.mlxtend` has
functions that are called as mlxtend's are. Not here: the command line. This file loads nothing, and frames
are loaded only where they are asked for: mining a file takes less time than loading them.
"""
