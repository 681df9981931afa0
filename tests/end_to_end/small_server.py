"""A server for the tests of the lifecycle, with the manners of bad ones. Only the standard library.

usage: small_server.py PORT [no-listen] [ignore-sigterm] [stray] [die=SECONDS] [fail]
"""

import http.server
import os
import signal
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers everything with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def leave_stray() -> None:
    """A grandchild that left the session, lost its parent and ignores SIGTERM."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(f"stray {os.getpid()}", flush=True)
    time.sleep(600)


def main() -> None:
    port, manners = int(sys.argv[1]), sys.argv[2:]
    print("started", flush=True)
    if "ignore-sigterm" in manners:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "stray" in manners:
        leave_stray()
    if "fail" in manners:
        print("loading\n0.00.007 E loader: no such tensor: blk.0", flush=True)
        raise RuntimeError("cannot load")
    for manner in manners:
        if manner.startswith("die="):
            threading.Timer(float(manner.removeprefix("die=")), os._exit, [3]).start()
    if "no-listen" in manners:
        time.sleep(600)
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
