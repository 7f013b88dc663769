"""Wheels on suspensions, with tyres by the Magic Formula (Morrot et al., sections 2.2-2.3)."""

from grouser.contact.tyre.model import TyreModule
from grouser.contact.tyre.parameters import Suspension, Tyre, WheelUnit

__all__ = ["Suspension", "Tyre", "TyreModule", "WheelUnit"]
