"""How many connections the system lets one process hold."""

from __future__ import annotations

import resource

from evals.errors import UsageError


def allow_connections(parallel: int) -> None:
    """Raises the soft limit of open files, 1024 on many systems, to what `parallel` needs.

    Raises UsageError where the hard limit is lower.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = parallel + 256  # beside the connections: records, libraries, pytest's own
    if soft != resource.RLIM_INFINITY and soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise UsageError(
                f"{parallel} requests in flight need {wanted} open files and this system allows "
                f"{hard}; raise it (ulimit -Hn) or ask for at most {max(1, hard - 256)} in parallel"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
