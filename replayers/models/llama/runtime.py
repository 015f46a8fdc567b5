"""One GGUF model and one context of llama.cpp, with the settings that keep answers bit-exact."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from ....eventlog.errors import BadInput, Infrastructure
from ..gguf import check_gguf
from ..machine import usable_cores
from .library import device, forget_errors, last_errors, load_library

CPU_BATCH = 64
GPU_BATCH = 512


@attrs.frozen(kw_only=True)
class Settings:
    """How a model is loaded; see `LlamaModel` for the meaning of each."""

    n_ctx: int = 4096
    n_batch: int | None = None
    threads: int | None = None
    gpu_layers: int = -1
    pooling: Literal["last", "mean"] | None = None
    verbose: bool = False


class Runtime:
    """A loaded model with one sequence of tokens in its cache.

    Fixed on purpose, because each changes the logits: batch and micro-batch equal; flash
    attention off on a CPU; weights not repacked; 16-bit cache; the cache not shared among
    sequences.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        """Load a model.

        Raises:
            BadInput: the file is missing, not GGUF, or of an architecture llama.cpp lacks.
            Infrastructure: the library is missing or memory does not suffice.
        """
        check_gguf(path)
        self.library = lib = load_library(verbose=settings.verbose)
        self.device = device(lib, settings.gpu_layers)
        on_cpu = self.device == "CPU"
        forget_errors()
        model_params = lib.llama_model_default_params()
        model_params.n_gpu_layers = 0 if on_cpu else settings.gpu_layers
        model_params.use_extra_bufts = False
        model = lib.llama_model_load_from_file(str(path).encode(), model_params)
        if not model:
            raise BadInput(f"llama.cpp cannot load {path}: {last_errors()}")
        self.flash = not on_cpu
        self.threads = settings.threads or usable_cores()
        self.trained_context = int(lib.llama_model_n_ctx_train(model))
        n_ctx = min(settings.n_ctx, self.trained_context)
        # An encoder attends to the whole text at once, so an embedder evaluates it as one batch.
        batch = n_ctx if settings.pooling else settings.n_batch or default_batch(self.device)
        self.n_batch = min(batch, n_ctx)
        context = lib.llama_init_from_model(model, _context_params(lib, self, n_ctx, settings))
        if not context:
            lib.llama_model_free(model)
            raise Infrastructure(
                f"llama.cpp has no room for {path.name} with n_ctx={n_ctx}: {last_errors()}; "
                "lower n_ctx or free memory"
            )
        self._context = context
        self._release = weakref.finalize(self, _free, lib, model, context)
        self._memory = lib.llama_get_memory(context)
        self._model = model
        self.vocab = lib.llama_model_get_vocab(model)
        self.n_ctx = int(lib.llama_n_ctx(context))
        self.vocab_size = int(lib.llama_vocab_n_tokens(self.vocab))
        self.width = int(lib.llama_model_n_embd(model))
        self._pieces: dict[int, bytes] = {}

    def close(self) -> None:
        """Free the model now rather than when it is collected."""
        self._release()

    # -- what the file says --------------------------------------------------------------------

    def metadata(self, key: str) -> str | None:
        """A metadata value of the GGUF, or None."""
        size = 1024
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = self.library.llama_model_meta_val_str(self._model, key.encode(), buffer, size)
            if length < 0:
                return None
            if length < size:
                return buffer.raw[:length].decode("utf-8", "replace")
            size = length + 1

    def special(self, name: Literal["bos", "eos"]) -> str:
        """Text of the vocabulary's first or last token, or empty if it has none."""
        token = getattr(self.library, f"llama_vocab_{name}")(self.vocab)
        return "" if token < 0 else self._text(token)

    def control_texts(self) -> list[str]:
        """Texts of all control tokens."""
        lib = self.library
        return [
            self._text(token)
            for token in range(self.vocab_size)
            if lib.llama_vocab_is_control(self.vocab, token)
        ]

    def _text(self, token: int) -> str:
        return str(self.library.llama_vocab_get_text(self.vocab, token).decode("utf-8", "replace"))

    # -- tokens --------------------------------------------------------------------------------

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Tokens of a text."""
        data = text.encode()
        room = len(data) + 8
        while True:
            tokens = (ctypes.c_int32 * room)()
            count = self.library.llama_tokenize(
                self.vocab, data, len(data), tokens, room, add_special, parse_special
            )
            if count >= 0:
                return list(tokens[:count])
            room = -count

    def piece(self, token: int) -> bytes:
        """The bytes a token stands for; none for a control token."""
        known = self._pieces.get(token)
        if known is None:
            size = 256
            buffer = ctypes.create_string_buffer(size)
            read = self.library.llama_token_to_piece
            length = read(self.vocab, token, buffer, size, 0, False)
            if length < 0:
                buffer = ctypes.create_string_buffer(-length)
                length = read(self.vocab, token, buffer, -length, 0, False)
            known = self._pieces[token] = buffer.raw[:length]
        return known

    def is_end(self, token: int) -> bool:
        """Whether a token ends a generation."""
        return bool(self.library.llama_vocab_is_eog(self.vocab, token))

    # -- computing -----------------------------------------------------------------------------

    def evaluate(self, tokens: Sequence[int]) -> None:
        """Append at most one batch of tokens to the sequence.

        Raises:
            Infrastructure: llama.cpp fails.
        """
        forget_errors()
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        batch = self.library.llama_batch_get_one(array, len(tokens))
        status = self.library.llama_decode(self._context, batch)
        if status != 0:
            raise Infrastructure(f"llama.cpp failed with status {status}: {last_errors()}")

    def logits(self) -> NDArray[np.float32]:
        """A copy of the logits after the last token, one per vocabulary entry."""
        return self._floats(self.library.llama_get_logits_ith(self._context, -1), self.vocab_size)

    def embedding(self) -> NDArray[np.float32]:
        """A copy of the pooled embedding of the sequence."""
        return self._floats(self.library.llama_get_embeddings_seq(self._context, 0), self.width)

    def truncate(self, length: int) -> bool:
        """Keep only the first tokens of the sequence; False if this model's cache cannot."""
        return bool(self.library.llama_memory_seq_rm(self._memory, 0, length, -1))

    def clear(self) -> None:
        """Empty the sequence."""
        if self._memory:
            self.library.llama_memory_clear(self._memory, True)

    def state_size(self) -> int:
        """Bytes of the sequence's state."""
        return int(self.library.llama_state_seq_get_size(self._context, 0))

    def save(self) -> bytes:
        """The sequence's state."""
        size = self.state_size()
        buffer = (ctypes.c_uint8 * size)()
        written = self.library.llama_state_seq_get_data(self._context, buffer, size, 0)
        return bytes(memoryview(buffer)[:written])

    def restore(self, state: bytes) -> bool:
        """Replace the sequence by a saved one; False if llama.cpp refuses."""
        self.clear()
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        done = self.library.llama_state_seq_set_data(self._context, buffer, len(state), 0)
        return bool(done > 0)

    def _floats(self, pointer: Any, count: int) -> NDArray[np.float32]:
        if not pointer:
            raise Infrastructure(f"llama.cpp gave no result: {last_errors()}")
        return np.array(np.ctypeslib.as_array(pointer, shape=(count,)), dtype=np.float32)


def default_batch(device: str) -> int:
    """Tokens per batch where the user names none."""
    return CPU_BATCH if device == "CPU" else GPU_BATCH


def _context_params(lib: ModuleType, runtime: Runtime, n_ctx: int, settings: Settings) -> Any:
    params = lib.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = runtime.n_batch
    params.n_seq_max = 1
    params.n_threads = params.n_threads_batch = runtime.threads
    params.flash_attn_type = (
        lib.LLAMA_FLASH_ATTN_TYPE_ENABLED if runtime.flash else lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    params.kv_unified = False
    # A sliding window that forgets could not be cut back to a shared prefix.
    params.swa_full = True
    params.no_perf = True
    if settings.pooling:
        params.embeddings = True
        params.pooling_type = getattr(lib, f"LLAMA_POOLING_TYPE_{settings.pooling.upper()}")
    return params


def _free(lib: ModuleType, model: Any, context: Any) -> None:
    lib.llama_free(context)
    lib.llama_model_free(model)
