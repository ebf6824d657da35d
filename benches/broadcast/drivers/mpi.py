"""MPI_Bcast: `mpirun … python mpi.py FOLDER`, rank 0 has FOLDER/file, rank N writes FOLDER/hN/file.

The whole file is one broadcast, in pieces of 64 MiB if it is larger: counts of MPI are 32 bits wide.
Rank 0 writes the time at which all were there into FOLDER/began.
"""

import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

PIECE = 64 * 1024 * 1024


def main() -> None:
    """One rank per host."""
    folder = Path(sys.argv[1])
    world = MPI.COMM_WORLD
    size = world.bcast((folder / "file").stat().st_size if world.rank == 0 else None, 0)
    content = np.empty(size, np.uint8)
    if world.rank == 0:
        content[:] = np.fromfile(folder / "file", np.uint8)
    world.Barrier()
    if world.rank == 0:
        (folder / "began").write_text(str(time.monotonic()))
    for begin in range(0, size, PIECE):
        world.Bcast(content[begin : begin + PIECE], 0)
    if world.rank:
        part = folder / f"h{world.rank}" / "part"
        content.tofile(part)
        part.rename(part.with_name("file"))


if __name__ == "__main__":
    main()
