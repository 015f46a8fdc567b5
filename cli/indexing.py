"""The command that prepares what teams look things up in: index."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import attrs
import click

from ..eventlog.errors import BadInput
from .app import JSON, cli
from .printing import json_text


@cli.command()
@click.argument("passages", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="The index, default PASSAGES.index.db."
)
@click.option(
    "--kind",
    type=click.Choice(["fts", "vectors"]),
    default="fts",
    show_default=True,
    help="Search by words (BM25) or by vectors.",
)
@click.option("--embedder", help="Of vectors: wordllama (default) or a GGUF file.")
@JSON
def index(passages: Path, out: Path | None, kind: str, embedder: str | None, as_json: bool) -> None:
    """Index the passages of a file for benchmarks that look things up.

    PASSAGES holds one JSON object a line, with title and text or with contents (Search-R1), or
    tab-separated id, text and title (DPR); it may be gzipped.
    """
    from ..eventlog.files import size
    from ..replayers.models import open_embedder
    from ..replayers.search.building import build_index
    from ..replayers.search.passages import read_passages

    if embedder is not None and kind != "vectors":
        raise BadInput(f"--embedder {embedder}: goes with --kind vectors")
    out = out or passages.with_name(f"{passages.name}.index.db")
    spec = (embedder or "wordllama") if kind == "vectors" else ""
    opened = open_embedder(spec) if spec else None
    # On standard error, so that --json stays JSON; and only where somebody watches.
    watched = sys.stderr.isatty()
    bar = click.progressbar(length=size(passages), label=passages.name, file=sys.stderr)
    with bar if watched else nullcontext():
        found = read_passages(passages, bar.update if watched else None)
        about = build_index(found, out, embedder=opened, spec=spec)
    if as_json:
        click.echo(json_text({"index": str(out), **attrs.asdict(about)}))
        return
    click.echo(f"{out}: {about.passages} passages, searched by {'vectors' if spec else 'words'}")
    click.echo(f"use it: --set benchmark.index={out}")
