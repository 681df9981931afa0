"""`python -m evals`: runs that lie on disk compared, kept, rescored and read. No server is asked.

Exit codes: 0 done, of a comparison also "no worse" and "cannot tell"; 10 the candidate is worse; 11
the runs cannot be compared, or the measurement is not complete; 2 wrong usage, or a damaged file.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence

from evals.commands import EXIT_NO_VERDICT, EXIT_USAGE, baseline, compare, history, rescore, show
from evals.errors import EvalsError, RecordsNotWritten, UsageError

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # neither line breaks nor tabs
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
        _print(text)
    except EvalsError as error:
        print(_printable(f"error: {error}"), file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_NO_VERDICT
    except OSError as error:  # of a path that may not even be looked at
        print(_printable(f"error: {error.filename}: {error.strerror}"), file=sys.stderr)
        return EXIT_USAGE
    return int(code)


def _print(text: str) -> None:
    """Its reader may have gone, or never been. Raises RecordsNotWritten, on a full disk say."""
    if sys.stdout is None:
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(_printable(text).encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more at the end
        if not isinstance(error, BrokenPipeError):
            raise RecordsNotWritten(f"the output cannot be written: {error.strerror}") from error


def _printable(text: str) -> str:
    """A model's text may hold what a terminal obeys, instead of showing it."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


if __name__ == "__main__":
    sys.exit(main())
