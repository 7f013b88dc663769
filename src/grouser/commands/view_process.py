"""Process of a live view. It reads what to show from stdin, and writes its address and drivers' commands to stdout.

    python -m grouser.commands.view_process '{"path": …, "host": …, "port": …, "token": …, "driven": …, "controls": …,
                                             "foxglove": …}'

Once it serves, it has the lowest priority (nice), so that a view does not slow the run down.
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

POLITE = 19


def main() -> int:
    asked = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends first and then closes our stdin
    lock = threading.Lock()

    def send(message: dict[str, Any]) -> None:
        with lock:
            print(json.dumps(message), flush=True)

    try:
        shown = _view(asked, send)
    except GrouserError as error:
        send({"error": str(error)})
        return error.exit_status
    send({"address": shown.address})
    _lower_priority()
    for line in sys.stdin:
        message = json.loads(line)
        if "path" in message:
            shown.switch(Path(message["path"]))
        if "note" in message:
            shown.show_note(str(message["note"]))
    return 0


def _lower_priority() -> None:
    """Give every thread the lowest priority. Linux sets it thread by thread; new threads inherit it."""
    tasks = Path("/proc/self/task")
    if tasks.is_dir():
        for task in tasks.iterdir():
            os.setpriority(os.PRIO_PROCESS, int(task.name), POLITE)


def _view(asked: dict[str, Any], send: Any) -> Any:
    if asked["foxglove"]:
        from grouser.viewer.foxglove_server import FoxgloveServer

        return FoxgloveServer(Path(asked["path"]), host=asked["host"], port=asked["port"])
    from grouser.viewer.driving import PageDriver
    from grouser.viewer.server import View

    driver = PageDriver(send, **asked["controls"]) if asked["driven"] else None
    return View(Path(asked["path"]), host=asked["host"], port=asked["port"], token=asked["token"], driver=driver)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # at lowest priority a normal exit could take minutes; nothing is left to save
