"""Language models and embedders, opened by a short specification.

Importing this loads neither llama.cpp nor numpy nor a network client; opening a model does.
"""

from __future__ import annotations

from typing import Any, Literal

from ...eventlog.errors import BadInput
from .. import plugins
from .base import Card, Embedder, Message, Model, ModelCall, Reply, at_once, complete_all

__all__ = [
    "Card",
    "Embedder",
    "Message",
    "Model",
    "ModelCall",
    "Reply",
    "at_once",
    "complete_all",
    "open_embedder",
    "open_model",
]

BUILT_IN_NAMES = ("bundled", "hf", "http", "https", "wordllama")
"""Names before the colon of a specification that no plugin can take."""


def open_model(
    spec: str,
    *,
    context: int = 8192,
    n_batch: int | None = None,
    threads: int | None = None,
    gpu_layers: int = -1,
    chat_template: str | None = None,
    reuse_prefix: bool = True,
    dialect: str = "auto",
    parallel: int = 1,
) -> Model:
    """Open a model.

    Args:
        spec: ``bundled``, a path to a GGUF file, ``hf:owner/repository/file.gguf``,
            ``http://host:port/v1#model-name`` for a server, or ``NAME:REST`` where NAME is a
            plugin, which is given REST and none of the other arguments.
        context: most tokens of prompt and answer together (local models).
        n_batch: see `LlamaModel`, as for the next four.
        threads: computing threads.
        gpu_layers: layers given to an accelerator.
        chat_template: Jinja source instead of the model's own.
        reuse_prefix: whether evaluated prompt batches are reused.
        dialect: how a server is told a schema; see `OpenAIModel`.
        parallel: most requests to a server at the same time; local models answer in turn.

    Raises:
        BadInput: the specification names nothing usable.
        Infrastructure: something the model needs is missing.
    """
    if spec.startswith(("http://", "https://")):
        from .openai import OpenAIModel

        url, _, name = spec.partition("#")
        if not name:
            raise BadInput(f"model {spec!r}: add the model's name, {url}#NAME")
        return OpenAIModel(url, name, dialect=dialect, parallel=parallel)
    model = _from_plugin(plugins.MODELS, spec)
    if model is not None:
        return model  # type: ignore[no-any-return]
    from .llama.library import load_library
    from .sources import resolve_model

    path = resolve_model(spec)
    load_library()  # says what to install, before anything needs what comes with it
    from .llama.model import LlamaModel

    return LlamaModel(
        path,
        n_ctx=context,
        n_batch=n_batch,
        threads=threads,
        gpu_layers=gpu_layers,
        chat_template=chat_template,
        reuse_prefix=reuse_prefix,
    )


def open_embedder(
    spec: str = "wordllama",
    *,
    pooling: Literal["last", "mean"] = "last",
    theta: float | None = None,
) -> Embedder:
    """Open an embedder.

    Args:
        spec: ``wordllama``, a path or ``hf:`` specification of a GGUF file, or ``NAME:REST``
            where NAME is a plugin, which is given REST and none of the other arguments.
        pooling: how a GGUF model's token vectors become one.
        theta: similarity threshold calibrated for a GGUF model; None for the default.

    Raises:
        BadInput: the specification names nothing usable.
        Infrastructure: something the embedder needs is missing.
    """
    from .embedders import THETA, LlamaEmbedder, WordLlamaEmbedder

    if spec == "wordllama":
        return WordLlamaEmbedder()
    embedder = _from_plugin(plugins.EMBEDDERS, spec)
    if embedder is not None:
        return embedder  # type: ignore[no-any-return]
    from .sources import resolve_model

    path = resolve_model(spec)
    return LlamaEmbedder(path, pooling=pooling, theta=THETA if theta is None else theta)


def _from_plugin(group: str, spec: str) -> Any:
    """What a plugin makes of ``NAME:REST``, or None where NAME is no plugin."""
    name, colon, rest = spec.partition(":")
    if not colon or name in BUILT_IN_NAMES:
        return None
    make: Any = plugins.plugin(group, name)
    return None if make is None else plugins.made(f"{name}:{rest}", make, rest)
