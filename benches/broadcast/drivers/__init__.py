"""Small programs that move a file, run inside the namespaces: each host runs one of them.

They import nothing of this package, because some run in an interpreter of their own. A receiver writes to a
file beside the final one and renames it when all is there: that is how the bench sees that a host has it.
"""
