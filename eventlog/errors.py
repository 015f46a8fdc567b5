"""The errors a user may meet, each one line that names the thing, the place and the remedy.

The command line turns them into exit statuses: 1 a check failed, 2 bad input, 3 infrastructure.
"""


class DiscernmemError(Exception):
    """Base of every error this project raises on purpose."""

    exit_status = 2


class BadInput(DiscernmemError):
    """A configuration, stream, log or argument is not usable as given; nothing was changed."""

    exit_status = 2


class CheckFailed(DiscernmemError):
    """A log or a replay does not hold what it should."""

    exit_status = 1


class Infrastructure(DiscernmemError):
    """The world failed (model, disk, server, sandbox); never a score, never a decision."""

    exit_status = 3


class LogError(BadInput):
    """A file is not a log this code can use: another format, a newer version, unreadable."""


class LogBusy(BadInput):
    """Another process holds the log for writing."""


class Conflict(CheckFailed):
    """An append does not extend the log it was written for."""
