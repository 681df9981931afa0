"""Every exception of this project, by cause.

EvalsError
├── UsageError               what a user gave cannot be used
└── NoVerdict                the measurement failed: says nothing about the model
    ├── ServerNotStarted     it never became ready, or is not what was asked for
    ├── ServerDied           it ended, or its process did, while it was measured
    ├── ServerUnreachable    many requests in a row got no answer at all
    ├── RequestRejected      it answered 4xx: the request itself is at fault
    ├── RunOutOfTime         the run's own deadline passed
    ├── RecordsNotWritten    an answer could not be stored (a full disk, say)
    └── NotComparable        runs are not of the same thing, or one is no whole measurement

A model that answers worse is no exception: it is a `verdict.Fail`.
"""


class EvalsError(Exception):
    """Base of all; its text is one line that a user can act on."""


class UsageError(EvalsError):
    """Bad input: the message names what, where, and what is allowed."""


class NoVerdict(EvalsError):
    """The measurement failed. Never to be counted as a wrong answer."""


class ServerNotStarted(NoVerdict):
    """The server never became ready, or is not the one that was asked for."""


class ServerDied(NoVerdict):
    """The server's process ended while it was being measured."""


class ServerUnreachable(NoVerdict):
    """Requests in a row got no answer at all, each after its last try."""


class RequestRejected(NoVerdict):
    """The server answered 4xx: carries the server's own message."""


class RunOutOfTime(NoVerdict):
    """The deadline of the whole run passed with questions still open."""


class RecordsNotWritten(NoVerdict):
    """An answer could not be stored."""


class NotComparable(NoVerdict):
    """Runs are not of the same questions, asked in the same way of the same model, or not whole."""
