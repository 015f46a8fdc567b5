"""Commands that prepare data for runs: index and manifest."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from ..eventlog.errors import BadInput
from .app import JSON, cli
from .configuring import parse_pairs
from .printing import json_text, say
from .progress import LOG_JSON, Counted


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
@LOG_JSON
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
    out = out or Path(f"{passages}.index.db")
    spec = (embedder or "wordllama") if kind == "vectors" else ""
    opened = open_embedder(spec) if spec else None
    with Counted({"passages": f"passages of {passages.name}"}, "bytes") as counted:
        total, read = size(passages), 0

        def told(more: int) -> None:
            nonlocal read
            read += more
            counted.told("passages", read, total)

        told(0)
        found = read_passages(passages, told)
        about = build_index(found, out, embedder=opened, spec=spec)
    counted.finished(index=str(out), passages=about.passages)
    if as_json:
        click.echo(json_text({"index": str(out), **attrs.asdict(about)}))
        return
    say(f"{out}: {about.passages} passages, searched by {'vectors' if spec else 'words'}")
    say(f"use it: --set benchmark.index={out}")


@cli.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--benchmark", required=True, help="kodcode, triviaqa or popqa.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="An option of it.")
def manifest(out: Path, benchmark: str, pairs: tuple[str, ...]) -> None:
    """Keep in the file OUT which records of a data set a benchmark plays, and in which order.

    A run that is given it (--set benchmark.manifest=OUT) plays the same stream anywhere.
    """
    from ..replayers.benchmarks import open_benchmark
    from ..replayers.datasets import write_manifest

    options = {key.removeprefix("benchmark."): value for key, value in parse_pairs(pairs).items()}
    opened = getattr(open_benchmark(benchmark, options), "manifest", None)
    if opened is None:
        raise BadInput(f"benchmark {benchmark}: plays no data set and has no manifest")
    write_manifest(opened, out)
    say(
        f"{out}: {len(opened.indices)} records of {opened.source}, order by "
        f"{opened.order['rule']}; use it: --set benchmark.manifest={out}"
    )
