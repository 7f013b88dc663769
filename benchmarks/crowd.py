"""Pages without a browser that burden a view: `python -m benchmarks.crowd ADDRESS`, until its input is closed.

Nine take what they are sent slowly, as over a poor network. The tenth sends a thousand messages a second that mean
nothing, to both sockets of the page, and comes back when it is shown the door. Prints "ready", then what it has done.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from contextlib import suppress

import viser
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

SLOW_PAGES, PERIOD = 9, 0.1  # [s] between two messages that a slow page takes
RATE, BURST = 1000, 20  # messages a second; sent so many at a time
MOST_WAITING = 4  # messages that a page has room for before the network holds up the sender
SEED = 25


async def crowd(address: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    tasks = [asyncio.create_task(_again(_slow, address, "", counts)) for _ in range(SLOW_PAGES)]
    tasks += [asyncio.create_task(_again(_garbage, address, place, counts)) for place in ("", "input")]
    while counts["pages"] < SLOW_PAGES or counts["garbage"] < RATE:
        await asyncio.sleep(0.05)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return counts


async def _again(page, address: str, place: str, counts: Counter[str]) -> None:
    """Open the page, and once more whenever the server has closed it."""
    spoken = {} if place else {"subprotocols": [f"viser-v{viser.__version__}"]}
    while True:
        with suppress(OSError, WebSocketException):
            url = address.replace("http://", "ws://") + place
            async with connect(url, max_queue=MOST_WAITING, max_size=None, ping_interval=None, **spoken) as socket:
                counts["pages"] += page is _slow
                await page(socket, counts)
        counts["closed"] += 1
        await asyncio.sleep(0.1)


async def _slow(socket: ClientConnection, counts: Counter[str]) -> None:
    while True:
        await socket.recv()
        counts["taken"] += 1
        await asyncio.sleep(PERIOD)


async def _garbage(socket: ClientConnection, counts: Counter[str]) -> None:
    """Half of RATE: there are two sockets."""
    chance = random.Random(SEED)
    while True:
        for _ in range(BURST // 2):
            nonsense = chance.randbytes(chance.randrange(200))
            text = json.dumps({"viewer": chance.random(), "keys": nonsense.hex()})
            await socket.send(nonsense if chance.random() < 0.5 else text)
            counts["garbage"] += 1
        await asyncio.sleep(BURST / RATE)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(crowd(sys.argv[1]))), flush=True)
