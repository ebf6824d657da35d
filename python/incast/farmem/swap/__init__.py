"""Remote memory by the kernel's own swapping, for programs that no library can be loaded into.

A memory control group keeps the program in local memory of the asked size; what doesn't fit goes to a swap
device in memory (zram), which a BPF program (`crates/blockdelay`) lets answer as late as remote memory. It
takes root, and all of it is undone at the end.
"""
