"""The command that makes many runs: sweep."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..eventlog.errors import BadInput
from .app import JSON, cli
from .configuring import Configured, Given, parse_pairs
from .printing import columns, json_text, say
from .progress import LOG_JSON, Watch, going
from .recording import States, begin

if TYPE_CHECKING:
    from ..replayers.sweeping import Axis
    from ..replayers.swept import Row

_WORDS = {"ModelReplied": "replies", "PassagesFound": "searches", "TextEmbedded": "texts"}


@cli.command(cls=Configured)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--vary",
    multiple=True,
    metavar="KEY=VALUE,…",
    help="A value that varies, for example rounds=1,2,3; several make every combination.",
)
@click.option(
    "--preset",
    type=click.Choice(["rounds", "k_inj", "k_id", "ablations"]),
    help="A sweep of the paper.",
)
@JSON
@LOG_JSON
def sweep(
    folder: Path, vary: Sequence[str], preset: str | None, as_json: bool, given: Given
) -> None:
    """Record one run per setting in FOLDER; a run asks the logs of those before it first.

    Run it again to go on after anything: what is finished is left alone.
    """
    from ..replayers.sweeping import PRESETS, Sweep, plan
    from ..replayers.swept import rows
    from .metering import Meter

    axes = [*map(_axis, vary), *([PRESETS[preset]] if preset else [])]
    if not axes:
        raise BadInput("sweep: give --vary or --preset, or record one run with `discernmem run`")
    planned = plan(given.table(), axes, given.source)
    going().remedy = lambda: f"what is in {folder} is kept, run it again to go on"
    meter = Meter(going().clock)
    with Sweep(folder, planned) as runs:
        for number, each in enumerate(planned):
            if not as_json:
                say(f"{number + 1} of {len(planned)}: {each.name}")
            going().tell("setting_started", number=number + 1, of=len(planned), name=each.name)
            before, after = sum(runs.tasks[:number]), sum(runs.tasks[number + 1 :])
            meter.next_run(before, runs.tasks[number], after)
            label = f"run {number + 1} of {len(planned)} {each.name}"
            with Watch(label=label, meter=meter) as watch:
                worked = runs.go_on(
                    begin=begin(watch, States(None), each.log(folder), quiet=as_json),
                    listener=watch,
                )
            if worked:
                watch.finished(log=str(each.log(folder)))
            elif not as_json:
                click.echo("is finished already")
    going().tell("sweep_finished", folder=str(folder), runs=len(planned))
    found = rows(folder, planned)
    click.echo(json_text([row.plain() for row in found]) if as_json else _table(found))


def _axis(text: str) -> Axis:
    """What ``--vary`` names, its values read as TOML and else as text."""
    from ..replayers.sweeping import Axis

    key, equals, values = text.partition("=")
    if not equals or not values:
        raise BadInput(f"--vary {text}: write it as key=value,value, for example rounds=1,2,3")
    try:
        found = tomllib.loads(f"values = [{values}]")["values"]
    except tomllib.TOMLDecodeError:
        found = values.split(",")
    # As in ``--set``, parameters of the method need no ``method.`` before them.
    (dotted,) = parse_pairs([f"{key}=0"])
    return Axis(dotted, tuple(found))


def _table(rows: Sequence[Row]) -> str:
    """One row per run, in columns."""
    lines = [("setting", "score", "memories", "revised", "inactive", "asked", "served")]
    lines += [
        (
            row.name,
            "" if row.mean_score is None else f"{row.mean_score:.4f}",
            str(row.analyses.memories),
            _percent(row.analyses.revised),
            _percent(row.analyses.states["inactive"]),
            _counted(row.asked),
            _counted(row.served),
        )
        for row in rows
    ]
    return columns(lines)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _counted(observations: Mapping[str, int]) -> str:
    counts = [f"{n} {_WORDS[kind]}" for kind, n in sorted(observations.items()) if n]
    return ", ".join(counts) or "nothing"
