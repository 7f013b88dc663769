# MuJoCo's bindings are compiled and come without types: everything in it is Any for pyright.
from typing import Any

def __getattr__(name: str) -> Any: ...
