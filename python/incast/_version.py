"""The package's version, from its metadata."""

from importlib.metadata import version

__version__ = version("incast")
