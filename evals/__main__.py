"""`python -m evals`: runs that lie on disk compared, kept, rescored and read. No server is asked.

Exit codes: 0 done, of a comparison also "no worse" and "cannot tell"; 10 the candidate is worse; 11
the runs cannot be compared, or the measurement is not complete; 2 wrong usage, or a damaged file.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from evals.commands import EXIT_NO_VERDICT, EXIT_USAGE, baseline, compare, history, rescore, show
from evals.errors import EvalsError, UsageError

COMMANDS = {
    "compare": compare,
    "baseline": baseline,
    "history": history,
    "rescore": rescore,
    "show": show,
}


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command, prints what it brings, and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="|".join(COMMANDS))
    for command in COMMANDS.values():
        command.add(commands)
    told = parser.parse_args(words)
    try:
        text, code = told.run(told)
    except EvalsError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_NO_VERDICT
    _print(text)
    return int(code)


def _print(text: str) -> None:
    """A model's text may hold lone surrogates, and its reader may have gone."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
