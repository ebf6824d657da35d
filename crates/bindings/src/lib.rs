//! The Python extension module `incast._core`; thin.
