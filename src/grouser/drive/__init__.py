"""Drives: brushed DC motors with gearbox and shaft friction, and the battery they share."""

from grouser.drive.battery import Battery, BatteryPack
from grouser.drive.lugre import lugre
from grouser.drive.motor import LuGre, Motor

__all__ = ["Battery", "BatteryPack", "LuGre", "Motor", "lugre"]
