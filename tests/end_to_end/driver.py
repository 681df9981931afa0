"""A process that has a server, to be killed or interrupted by a test.

usage: driver.py FOLDER PORT LEASE [manners of small_server.py …]

Says "waiting" before it waits for readiness, "ready" after, "interrupted" if that reached it.
"""

import sys
import time
from pathlib import Path

from fixtures.hardware.leases import lease
from fixtures.servers.process import ServerProcess

SMALL_SERVER = Path(__file__).with_name("small_server.py")


def say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    folder, port, resource, manners = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    try:
        with lease([resource], holder=f"driver on {port}", say=say) as held:
            server = ServerProcess(
                [sys.executable, str(SMALL_SERVER), str(port), *manners],
                name="driver",
                port=port,
                log=folder / "server.log",
                files=held.files,
                grace=1.0,
            )
            with server:
                say("waiting")
                server.wait_until_ready(lambda: True, 60, str.splitlines)
                say("ready")
                time.sleep(60)
    except KeyboardInterrupt:
        say("interrupted")


if __name__ == "__main__":
    main()
