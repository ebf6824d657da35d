"""The study's programs: how each is called, and the figures by which the slides would rank it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FEW, MORE = 4, 12
"""Images that are classified; time is linear in images, so both together say what 100 take."""


@dataclass(frozen=True)
class Model:
    """A network: figures of its file (`classify.py prepare` prints them)."""

    size_mb: int
    """Parameters of four bytes."""
    layers: int
    """Convolution layers, depthwise and separable ones too."""


MODELS = {
    "MobileNet": Model(17, 28),
    "EfficientNetB0": Model(21, 81),
    "DenseNet121": Model(32, 120),
    "Xception": Model(92, 40),
    "InceptionV3": Model(95, 94),
    "ResNet50": Model(103, 53),
    "VGG16": Model(553, 13),
}
LIBRARIES = ("litert", "tensorflow")
ALGORITHMS = ("rows", "scipy", "shifted")
SIZES = (2048, 4096)


def convolution(algorithm: str, size: int, times: int) -> list[str]:
    """The arguments of a convolution."""
    return [str(HERE / "convolution.py"), algorithm, str(size), "--times", str(times)]


def classify(library: str, model: str, images: int, models: Path) -> list[str]:
    """The arguments of a classification."""
    return [str(HERE / "classify.py"), model, library, "--images", str(images), "--models", str(models)]


def commands(models: Path) -> dict[str, list[str]]:
    """All that is run, by the name of its result folder; `models` is where the models lie."""
    found = {
        f"{algorithm}-{size}-{times}": convolution(algorithm, size, times)
        for algorithm in ALGORITHMS
        for size in SIZES
        for times in (1, 3)
    }
    for library in LIBRARIES:
        for model in MODELS:
            for images in (FEW, MORE):
                found[f"{library}-{model}-{images}"] = classify(library, model, images, models)
    return found
