"""A 3×3 convolution of a square matrix of float64, by one of several algorithms.

    python studies/remote-memory/convolution.py ALGORITHM SIZE [--times N]

The document does not name its algorithm, and algorithms differ in what they touch, so each is named here:

- `shifted`: the naive sum of nine shifted copies; each of nine steps makes a product as large as the matrix;
- `rows`: the same sum for a block of rows at a time, which needs a few rows beside input and output;
- `scipy`: `scipy.ndimage.convolve`.

Prints a checksum, which all of them have in common.
"""

from __future__ import annotations

import argparse

import numpy as np

_BLOCK = 64
"""Rows at a time: 2 MB at 4096 columns."""
_KERNEL = np.arange(1.0, 10.0).reshape(3, 3) / 45


def shifted(matrix: np.ndarray) -> np.ndarray:
    """The sum of nine shifted products over the whole matrix."""
    height, width = matrix.shape[0] - 2, matrix.shape[1] - 2
    out = np.zeros((height, width))
    for i in range(3):
        for j in range(3):
            out += _KERNEL[i, j] * matrix[i : i + height, j : j + width]
    return out


def rows(matrix: np.ndarray) -> np.ndarray:
    """The same, a block of rows after the other."""
    out = np.empty((matrix.shape[0] - 2, matrix.shape[1] - 2))
    for top in range(0, len(out), _BLOCK):
        block = out[top : top + _BLOCK]
        block[:] = shifted(matrix[top : top + len(block) + 2])
    return out


def scipy(matrix: np.ndarray) -> np.ndarray:
    """By a library: the kernel is turned, because that is what convolution means there."""
    from scipy import ndimage

    return ndimage.convolve(matrix, _KERNEL[::-1, ::-1], mode="nearest")[1:-1, 1:-1]


ALGORITHMS = {"shifted": shifted, "rows": rows, "scipy": scipy}


def main() -> None:
    """Convolves a matrix that every run creates, in place, so that nothing else takes memory."""
    parser = argparse.ArgumentParser(description="A 3×3 convolution of a matrix of float64.")
    parser.add_argument("algorithm", choices=ALGORITHMS)
    parser.add_argument("size", type=int)
    parser.add_argument("--times", type=int, default=1, help="the same again, so often in all")
    asked = parser.parse_args()
    matrix = np.empty((asked.size, asked.size))
    np.random.default_rng(1).random(out=matrix)
    for _ in range(asked.times):
        total = float(ALGORITHMS[asked.algorithm](matrix).sum())
    print(f"{total:.6e}")


if __name__ == "__main__":
    main()
