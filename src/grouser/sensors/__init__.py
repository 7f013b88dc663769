"""Sensors of the deforming ground: depth camera, lidar, inertial unit."""

from grouser.sensors.descriptions import DepthCamera, Imu, Lidar, Sensor
from grouser.sensors.instruments import ImuInstrument, Instrument, RangeInstrument, instrument
from grouser.sensors.scene import Scene

__all__ = [
    "DepthCamera",
    "Imu",
    "ImuInstrument",
    "Instrument",
    "Lidar",
    "RangeInstrument",
    "Scene",
    "Sensor",
    "instrument",
]
