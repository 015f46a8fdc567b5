"""Texts to unit vectors, one at a time, so that a vector never depends on its neighbours."""

from __future__ import annotations

import functools
import logging
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...eventlog.errors import BadInput, Infrastructure
from .base import Card
from .cards import clean, make_card
from .gguf import file_digest
from .llama.library import build_facts
from .llama.runtime import Runtime, Settings
from .machine import one_generation

# Similarity above which two texts may be the same memory; calibrated on paraphrases of rules.
THETA = 0.25


class WordLlamaEmbedder:
    """Averaged word vectors that come inside the ``wordllama`` package: small, offline, exact."""

    theta = THETA

    def __init__(self) -> None:
        """Load the vectors.

        Raises:
            Infrastructure: the package or its files are missing.
        """
        self._folder = _package_folder("wordllama")
        try:
            self._model: Any = _import_quietly("wordllama").WordLlama.load(
                cache_dir=self._folder, disable_download=True
            )
        except (ImportError, FileNotFoundError) as error:
            raise Infrastructure(
                f"wordllama does not load ({error}): pip install --force-reinstall wordllama"
            ) from None

    @functools.cached_property
    def card(self) -> Card:
        """Version and weights."""
        weights = sorted((self._folder / "weights").glob("*.safetensors"))
        deciding = {
            "backend": "wordllama",
            "version": metadata.version("wordllama"),
            "weights": [file_digest(path) for path in weights],
            "dimensions": int(self._model.embedding.shape[1]),
        }
        return make_card(deciding, {"theta": self.theta})

    def embed(self, text: str) -> bytes:
        """See `Embedder`; a text without any token gives zeros, similar to nothing."""
        text = clean(text)
        if not text.strip():
            return _unit(np.zeros(self._model.embedding.shape[1], dtype=np.float32))
        return _unit(self._model.embed([text])[0])


class LlamaEmbedder:
    """An embedding model in a GGUF file, through llama.cpp."""

    def __init__(
        self,
        path: Path,
        *,
        pooling: Literal["last", "mean"] = "last",
        theta: float = THETA,
        n_ctx: int = 2048,
        threads: int | None = None,
        gpu_layers: int = -1,
    ) -> None:
        """Load a model.

        Args:
            path: the GGUF file.
            pooling: ``last`` token for decoder models, ``mean`` for encoders.
            theta: similarity threshold calibrated for this model.
            n_ctx: longest text, in tokens.
            threads: by default all usable cores.
            gpu_layers: layers given to an accelerator, -1 for all.

        Raises:
            BadInput: not a loadable GGUF.
            Infrastructure: llama-cpp-python or memory is missing.
        """
        self._path = path
        self._pooling = pooling
        self.theta = theta
        settings = Settings(n_ctx=n_ctx, threads=threads, gpu_layers=gpu_layers, pooling=pooling)
        self._runtime = Runtime(path, settings)

    def close(self) -> None:
        """Free the model's memory; no call may follow."""
        self._runtime.close()

    @functools.cached_property
    def card(self) -> Card:
        """File, build, device and pooling."""
        runtime = self._runtime
        deciding = {
            "backend": "llama.cpp",
            "sha256": file_digest(self._path),
            **build_facts(runtime.library),
            "device": runtime.device,
            "flash_attention": runtime.flash,
            "repacking": False,
            "pooling": self._pooling,
            "dimensions": runtime.width,
        }
        other = {"file": self._path.name, "theta": self.theta, "n_ctx": runtime.n_ctx}
        return make_card(deciding, other)

    def embed(self, text: str) -> bytes:
        """See `Embedder`; a text without any token gives zeros, similar to nothing.

        Raises:
            BadInput: the text has more tokens than the context holds.
            Infrastructure: llama.cpp fails.
        """
        runtime = self._runtime
        text = clean(text)
        if not text.strip():
            return _unit(np.zeros(runtime.width, dtype=np.float32))
        tokens = runtime.tokenize(text, add_special=True, parse_special=False)
        if len(tokens) > runtime.n_batch:
            raise BadInput(
                f"the text has {len(tokens)} tokens, the embedder takes {runtime.n_batch}: "
                "raise its n_ctx or shorten the text"
            )
        with one_generation():
            runtime.clear()
            runtime.evaluate(tokens)
            return _unit(runtime.embedding())


def _unit(vector: NDArray[np.float32]) -> bytes:
    """Little-endian float32 bytes of a vector at unit length; zeros stay zeros."""
    exact = vector.astype(np.float64)
    length = float(np.sqrt(np.dot(exact, exact)))
    if not np.isfinite(length):
        raise Infrastructure("the embedder gave a vector that is not finite; check its model file")
    return (exact / length if length else exact).astype("<f4").tobytes()


def _package_folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise Infrastructure(f"{package} is not installed: pip install {package}")
    return Path(spec.origin).parent


def _import_quietly(package: str) -> Any:
    """Import a package that configures the root logger, and undo that."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    module = import_module(package)
    root.setLevel(level)
    root.handlers[:] = handlers
    return module
