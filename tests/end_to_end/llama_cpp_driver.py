"""A process that serves a row of a matrix and keeps it busy, to be killed by a test.

usage: llama_cpp_driver.py MATRIX ROW FOLDER
"""

import sys
import time
from pathlib import Path

from fixtures.matrix.file import load_matrix
from fixtures.servers.server import start_server


def main() -> None:
    row = load_matrix(Path(sys.argv[1])).row(sys.argv[2])
    with start_server(row, folder=Path(sys.argv[3]), say=print) as server:
        print(server.endpoint.base_url, server.endpoint.api_key, flush=True)
        time.sleep(60)


if __name__ == "__main__":
    main()
