"""Resistive force theory: bodies in dry granular media, by Li et al. 2013 or Agarwal et al. 2023."""

from grouser.contact.rft.model import RftModule, RftOptions

__all__ = ["RftModule", "RftOptions"]
