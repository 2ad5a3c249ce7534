# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
"""A service with a leak, for the screens of docs/FIRST-MINUTES.md: it remembers every session, and forgets none."""
import asyncio
import json

sessions = {}


def open_session(number):
    sessions[number] = bytearray(4096)
    return json.dumps({"session": number, "open": len(sessions)})


async def serve():
    number = 0
    while True:
        for _ in range(5):
            number += 1
            open_session(number)
        await asyncio.sleep(0.02)


asyncio.run(serve())
