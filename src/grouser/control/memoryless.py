"""Base of controllers without state and without channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grouser.module import Channel


class Memoryless:
    """No state, no channels: the next command follows from time and sensors alone."""

    def state(self) -> dict[str, Any]:
        return {}

    def reset(self, worlds: Sequence[int]) -> None:
        pass

    def channels(self) -> list[Channel]:
        return []
