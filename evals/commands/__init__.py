"""The commands of `python -m evals`, one a module: its arguments (`add`) and what it does (`run`).

`run` gives what to print and the exit code.
"""

EXIT_WORSE = 10
EXIT_NO_VERDICT = 11
EXIT_USAGE = 2
