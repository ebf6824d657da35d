"""Pictures that are files of the study: each is on the page as data, so that the page needs nothing else."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from incast.bounded import read_bytes
from incast.study.model import Image
from incast.study.study import Study

_BYTES_MAX = 64_000_000


@dataclass(frozen=True)
class Shown:
    """A picture, ready for the page. A browser runs no script in an image."""

    asked: Image
    title: str
    data_uri: str
    """Its content."""


def images(study: Study) -> list[Shown]:
    """All of them, in the study's order."""
    return [_shown(study, image) for image in study.model.images]


def _shown(study: Study, image: Image) -> Shown:
    content = base64.b64encode(read_bytes(study.folder / image.file, _BYTES_MAX)).decode()
    title = f"{image.place[:1].upper()}{image.place[1:]}: {image.text}".removesuffix(": ")
    return Shown(image, title, f"data:image/svg+xml;base64,{content}")
