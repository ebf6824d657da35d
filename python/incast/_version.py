"""The package's version, from the core: its metadata takes longer to read than a small file to mine."""

from incast._core import __version__

__all__ = ["__version__"]
