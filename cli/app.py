"""The command itself: its errors, its group, and what several commands take.

Exit status: 0 done, 1 a check failed, 2 bad input, 3 infrastructure, 128 and the number of the
signal that ended it: 130 for Ctrl-C, 143 for SIGTERM.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from ..eventlog.errors import DiscernmemError
from .printing import shown
from .progress import Going
from .stopping import Stopped, signals_to


def default_log() -> Path:
    """The log that is meant where none is named."""
    return Path(os.environ.get("DISCERNMEM_LOG") or "run.db")


NEW_LOG = click.argument("log", type=click.Path(path_type=Path))
LOG = click.argument("log", type=click.Path(path_type=Path), default=default_log)
UNTIL = click.option("--until", type=click.IntRange(min=0), help="Stop after this task.")
STATES = click.option(
    "--dump-states", type=click.Path(path_type=Path), help="Folder for each task's store."
)
TRACEBACK: Final = "DISCERNMEM_TRACEBACK"
"""The variable that, if it is set, shows how an error came about, before its one line."""

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake of the user costs one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    going = Going()
    with signals_to(going.stop):
        try:
            cli.main(args=arguments, prog_name="discernmem", standalone_mode=False, obj=going)
        except click.ClickException as error:
            sys.exit(_complain(going, error.format_message(), 2))
        except DiscernmemError as error:
            if going.stop.stopped:
                sys.exit(_interrupted(going))
            sys.exit(_complain(going, str(error), error.exit_status, error))
        except (Stopped, click.Abort):
            sys.exit(_interrupted(going))
        except OSError as error:
            message = f"{error.filename or 'the system'}: {error.strerror}"
            sys.exit(_complain(going, message, 3, error))


def _interrupted(going: Going) -> int:
    status = going.stop.exit_status if going.stop.asked else 130
    return _complain(going, f"interrupted; {going.remedy()}", status, event="interrupted")


def _complain(
    going: Going,
    message: str,
    status: int,
    error: Exception | None = None,
    *,
    event: str = "failed",
) -> int:
    """Say in one line why it ended, to whom it is for."""
    if error is not None and os.environ.get(TRACEBACK):
        click.echo("".join(traceback.format_exception(error)), nl=False, err=True)
    line = shown(" ".join(message.split()))
    if going.log_json:
        going.tell(event, message=line, exit_status=status)
    else:
        # Where nobody can be told, the exit status still says it.
        with suppress(OSError):
            click.echo(f"discernmem: {line}", err=True)
    return status


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    no_args_is_help=False,
)
@click.version_option(package_name="discernmem")
@click.pass_context
def cli(context: click.Context) -> None:
    """Memory for multi-agent LLM teams that can prove everything it did."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
