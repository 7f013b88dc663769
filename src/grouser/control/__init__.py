"""Controllers and virtual sensors: steering, path following, traction control, odometry, slip, power, docking."""

from grouser.control.drive import Drive, GroundSpeed
from grouser.control.driver import DriverInput, MachineDriver
from grouser.control.follower import PathFollower
from grouser.control.function import ControlFunction
from grouser.control.odometry import Odometry
from grouser.control.path import Path
from grouser.control.power import PowerMeter
from grouser.control.sensors import Readings, VehicleSensors
from grouser.control.side_drive import BladeDrive, SideDrive
from grouser.control.slip import WheelSlip
from grouser.control.steering import ackermann, crab, point_turn
from grouser.control.step_drive import StepDrive
from grouser.control.tip_over import TipOver, tip_over_margin
from grouser.control.torque_drive import TorqueDrive
from grouser.control.torque_shares import TorqueShares
from grouser.control.traction import Axle, Cdta, SpeedController, axles_of
from grouser.control.user_file import UserController
from grouser.control.wheels import Wheels

__all__ = [
    "Axle",
    "BladeDrive",
    "Cdta",
    "ControlFunction",
    "Drive",
    "DriverInput",
    "GroundSpeed",
    "MachineDriver",
    "Odometry",
    "Path",
    "PathFollower",
    "PowerMeter",
    "Readings",
    "SideDrive",
    "SpeedController",
    "StepDrive",
    "TipOver",
    "TorqueDrive",
    "TorqueShares",
    "UserController",
    "VehicleSensors",
    "WheelSlip",
    "Wheels",
    "ackermann",
    "axles_of",
    "crab",
    "point_turn",
    "tip_over_margin",
]
