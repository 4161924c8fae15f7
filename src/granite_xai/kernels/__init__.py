"""Compiled twins of the few loops that need them; each is built when it is first used."""

from granite_xai.kernels.build import available, compiled

__all__ = ["available", "compiled"]
