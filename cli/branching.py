"""Commands that branch off: fork, compare and override."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from ..eventlog.errors import BadInput
from ..eventlog.events import OverrideAction
from .app import JSON, LOG, UNTIL, cli
from .configuring import parse_pairs
from .printing import json_text, print_comparison, print_summary, said, say
from .progress import LOG_JSON, Watch, going
from .recording import States, begin, goes_on, same_extent


@cli.command()
@LOG
@click.option("--at", type=int, required=True, help="After which task to branch off (0: before).")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The new log.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A value to change.")
@UNTIL
@LOG_JSON
def fork(log: Path, at: int, out: Path, pairs: Sequence[str], until: int | None) -> None:
    """Go on from a task of LOG under other settings, in a new log.

    What LOG recorded is served from it; a model is asked only what is new.
    """
    from ..replayers.forking import Branch, fork

    branch = Branch(origin=log, at=at, changed=parse_pairs(pairs))
    going().remedy = partial(goes_on, out, ["resume", str(out), *same_extent(until)])
    with Watch() as watch:
        done = fork(branch, out, begin=begin(watch, States(None), out), until=until, listener=watch)
    watch.finished(log=str(out))
    print_summary(out)
    say(
        f"forked from {log} after task {at}: {sum(done.served.values())} observations served from "
        f"it, {done.asked.get('ModelReplied', 0)} model calls made",
        f"see `discernmem compare {log} {out}`",
    )


@cli.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@JSON
def compare(a: Path, b: Path, as_json: bool) -> None:
    """Show task by task where the runs in A and B part, with the first cause."""
    from ..eventlog.log import EventLog
    from ..projections.comparison import compare
    from ..replayers.headers import differing, header_of

    with EventLog.open(a) as left, EventLog.open(b) as right:
        found = compare(left, right, differing(header_of(left), header_of(right)))
        if as_json:
            click.echo(json_text(found.plain()))
        else:
            print_comparison(found, (a, b))


@cli.command()
@click.argument("action", type=click.Choice(get_args(OverrideAction)))
@click.argument("memory")
@LOG
@click.option("--reason", required=True, help="Why; it stays in the log.")
@click.option("--by", default=None, help="Who decides; by default your login name.")
@click.option("--text", default="", help="The new rule, or the condition.")
@click.option("--kind", type=click.Choice(["use", "avoid"]), help="Of a condition to withdraw.")
@click.option(
    "--expect",
    metavar="v2[@419]",
    help="Refuse if the memory has another version (or changed after that event).",
)
@JSON
def override(
    action: OverrideAction,
    memory: str,
    log: Path,
    text: str,
    kind: str | None,
    reason: str,
    by: str | None,
    expect: str | None,
    as_json: bool,
) -> None:
    """Decide about MEMORY yourself, between two tasks of the run in LOG.

    The decision and its reason become events; the run goes on from them.
    """
    from ..replayers.overriding import Decision, Expectation, override

    kinds: dict[str, Any] = {"use": "use_when", "avoid": "avoid_when"}
    if kind is not None and action != "withdraw-condition":
        raise BadInput(f"--kind: {action} takes none; it is for withdraw-condition")
    if text and action in ("retire", "revive"):
        raise BadInput(f"--text: {action} takes none; the reason goes to --reason")
    decision = Decision(
        memory=memory,
        action=action,
        text=text,
        kind=kinds[kind] if kind else None,
        reason=reason,
        by=_login_name() if by is None else by,
    )
    recorded = override(log, decision, Expectation.parse(expect) if expect is not None else None)
    if as_json:
        click.echo(json_text([{"position": r.position, "event_id": r.event_id} for r in recorded]))
        return
    for each in recorded:
        click.echo(said(each))


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise BadInput("--by: this account has no name; give one") from None
