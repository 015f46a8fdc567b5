"""The command itself: its errors, its group, and what several commands take.

Exit status: 0 done, 1 a check failed, 2 bad input, 3 infrastructure.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ..eventlog.errors import DiscernmemError

NEW_LOG = click.argument("log", type=click.Path(path_type=Path))
LOG = click.argument(
    "log", type=click.Path(path_type=Path), default=Path("run.db"), envvar="DISCERNMEM_LOG"
)
UNTIL = click.option("--until", type=click.IntRange(min=0), help="Stop after this task.")
STATES = click.option(
    "--dump-states", type=click.Path(path_type=Path), help="Folder for each task's store."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake of the user costs one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(args=arguments, prog_name="discernmem", standalone_mode=False)
    except click.ClickException as error:
        sys.exit(_complain(error.format_message(), 2))
    except DiscernmemError as error:
        sys.exit(_complain(str(error), error.exit_status))
    except click.Abort:
        sys.exit(_complain("interrupted; `discernmem resume` goes on with a run", 130))
    except OSError as error:
        sys.exit(_complain(f"{error.filename or 'the system'}: {error.strerror}", 3))


def _complain(message: str, status: int) -> int:
    click.echo(f"discernmem: {' '.join(message.split())}", err=True)
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
