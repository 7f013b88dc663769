"""The process of a live view: told what to show on its input, tells its address and drivers' commands on its output.

    python -m grouser.commands.view_process '{"path": …, "host": …, "port": …, "token": …, "driven": …}'

Once it serves, it runs after everything else on the machine (nice): looking shall not slow the run down.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from grouser.errors import GrouserError

POLITE = 10


def main() -> int:
    asked = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends first, then it closes our input
    lock = threading.Lock()

    def say(message: dict[str, Any]) -> None:
        with lock:
            print(json.dumps(message), flush=True)

    try:
        shown = _view(asked, say)
    except GrouserError as error:
        say({"error": str(error)})
        return error.exit_status
    with shown:
        say({"address": shown.address})
        if hasattr(os, "nice"):
            os.nice(POLITE)
        for line in sys.stdin:
            message = json.loads(line)
            if "path" in message:
                shown.switch(Path(message["path"]))
            if "note" in message:
                shown.say(str(message["note"]))
    return 0


def _view(asked: dict[str, Any], say: Any) -> Any:
    from grouser.viewer.driving import PageDriver
    from grouser.viewer.server import View

    driver = PageDriver(say) if asked["driven"] else None
    return View(Path(asked["path"]), host=asked["host"], port=asked["port"], token=asked["token"], driver=driver)


if __name__ == "__main__":
    sys.exit(main())
