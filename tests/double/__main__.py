"""`python -m tests.double`: serve on 127.0.0.1 until killed; one line of JSON says where."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys

from tests.double.behaviour import Behaviour, from_arguments
from tests.double.http11 import Connection
from tests.double.service import Service

_BACKLOG = 4096


async def serve(behaviour: Behaviour, service: Service) -> None:
    """Listen, say where, and serve for ever."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(service), "127.0.0.1", behaviour.port, backlog=_BACKLOG
    )
    if behaviour.exit_with_stdin:
        loop.add_reader(0, _exit_at_end_of_stdin)
    gc.freeze()  # the plan lives as long as the process: never walk it again
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"port": port, "pid": os.getpid()}), flush=True)
    await server.serve_forever()


def main() -> int:
    behaviour = from_arguments(sys.argv[1:])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        asyncio.run(serve(behaviour, Service(behaviour)))
    except (ValueError, OSError) as error:
        print(f"python -m tests.double: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _exit_at_end_of_stdin() -> None:
    if not os.read(0, 4096):
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
