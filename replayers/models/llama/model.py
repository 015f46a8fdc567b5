"""A GGUF model through llama.cpp: the same call always gets the same text."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from ....eventlog.errors import BadInput
from ..base import Card, ModelCall, Reply
from ..cards import clean, make_card
from ..gguf import file_digest
from ..machine import one_generation
from . import sampling
from .constraint import Constraint, open_engine
from .library import build_facts
from .prefixes import PrefixStore, common_length
from .repetition import RepetitionWatch
from .runtime import Runtime, Settings
from .template import ChatTemplate


class LlamaModel:
    """A chat model in a GGUF file, evaluated in this process.

    Exactness: the prompt is always cut into batches of ``n_batch`` tokens from its start, and
    only whole batches of earlier *prompts* are reused, never generated tokens and never a part
    of a batch, so every logit equals the one of a fresh evaluation.
    """

    def __init__(
        self,
        path: Path,
        *,
        n_ctx: int = 4096,
        n_batch: int | None = None,
        threads: int | None = None,
        gpu_layers: int = -1,
        chat_template: str | None = None,
        reuse_prefix: bool = True,
        kept_prefix_bytes: int = 256 * 2**20,
        verbose: bool = False,
    ) -> None:
        """Load a model.

        Args:
            path: the GGUF file.
            n_ctx: most tokens of prompt and answer together; at most what the model was
                trained for.
            n_batch: prompt tokens evaluated at once, by default 64 on a CPU and 512 elsewhere.
            threads: by default all usable cores.
            gpu_layers: layers given to an accelerator, -1 for all; ignored where there is none.
            chat_template: Jinja source instead of the file's own template.
            reuse_prefix: whether evaluated prompt batches are reused.
            kept_prefix_bytes: memory for prefixes of prompts other than the last one.
            verbose: let llama.cpp write its log to standard error.

        Raises:
            BadInput: not a loadable GGUF, or it has no chat template and none is given.
            Infrastructure: llama-cpp-python or memory is missing.
        """
        self._path = path
        settings = Settings(
            n_ctx=n_ctx, n_batch=n_batch, threads=threads, gpu_layers=gpu_layers, verbose=verbose
        )
        self._runtime = runtime = Runtime(path, settings)
        source = chat_template or runtime.metadata("tokenizer.chat_template")
        if source is None:
            runtime.close()
            raise BadInput(
                f"{path.name} has no chat template, as base models do not: take the instruct "
                "model, or set chat_template"
            )
        self._template = ChatTemplate(
            source,
            bos=runtime.special("bos"),
            eos=runtime.special("eos"),
            control=runtime.control_texts(),
        )
        self._engine = open_engine(runtime)
        self._reuse_prefix = reuse_prefix
        self._store = PrefixStore(kept_prefix_bytes)
        # The prompt tokens at the start of the cache that were evaluated as whole batches.
        self._canonical: list[int] = []
        self.evaluated_prompt_tokens = 0

    def close(self) -> None:
        """Free the model's memory; no call may follow."""
        self._runtime.close()

    @functools.cached_property
    def card(self) -> Card:
        """File, build, device and every setting that can change a logit."""
        runtime = self._runtime
        deciding = {
            "backend": "llama.cpp",
            "sha256": file_digest(self._path),
            **build_facts(runtime.library),
            "device": runtime.device,
            "n_batch": runtime.n_batch,
            "flash_attention": runtime.flash,
            "kv_type": "f16",
            "repacking": False,
            "chat_template": self._template.digest,
            "constraint": self._engine.name,
            "sampling": sampling.RULE,
        }
        other = {
            "file": self._path.name,
            "name": runtime.metadata("general.name") or self._path.stem,
            "license": runtime.metadata("general.license") or "not stated",
            "n_ctx": runtime.n_ctx,
            "threads": runtime.threads,
            "reuse_prefix": self._reuse_prefix,
        }
        return make_card(deciding, other)

    def complete(self, call: ModelCall) -> Reply:
        """Answer one call, waiting for its turn on this machine.

        Raises:
            BadInput: prompt and answer do not fit into the context, the template refuses the
                messages, or the schema cannot be enforced.
            Infrastructure: llama.cpp fails.
        """
        prompt = self._tokenize(self._template.render(call.messages))
        self._check_room(len(prompt), call.max_tokens)
        constraint = self._engine.compile(call.schema) if call.schema is not None else None
        sampler = sampling.Sampler(temperature=call.temperature, top_p=call.top_p, seed=call.seed)
        with one_generation():
            try:
                self._evaluate_prompt(prompt)
                data, finish, count = self._generate(call.max_tokens, sampler, constraint)
            except BaseException:
                # Whatever was interrupted, the cache is no longer known to be whole batches.
                self._canonical = []
                self._runtime.clear()
                raise
        return Reply(
            text=clean(data.decode("utf-8", "replace")),
            finish=finish,
            prompt_tokens=len(prompt),
            completion_tokens=count,
        )

    def _tokenize(self, prompt: str) -> list[int]:
        # A template that writes the first token itself must not get a second one.
        bos = self._runtime.special("bos")
        begun = bool(bos) and prompt.startswith(bos)
        return self._runtime.tokenize(prompt, add_special=not begun, parse_special=True)

    def _check_room(self, prompt: int, answer: int) -> None:
        runtime = self._runtime
        if prompt + answer <= runtime.n_ctx:
            return
        remedy = (
            "raise the model's context (n_ctx)"
            if runtime.n_ctx < runtime.trained_context
            else f"the model was trained for {runtime.trained_context} tokens"
        )
        raise BadInput(
            f"the prompt has {prompt} tokens and max_tokens is {answer}: {prompt + answer} "
            f"needed, {runtime.n_ctx} available; {remedy}, or shorten the prompt or max_tokens"
        )

    def _evaluate_prompt(self, prompt: list[int]) -> None:
        """Bring the cache to exactly this prompt, reusing whole batches where allowed."""
        runtime, batch = self._runtime, self._runtime.n_batch
        kept = self._keep_prefix(prompt) if self._reuse_prefix else 0
        if not (kept and runtime.truncate(kept)):
            kept = 0
            runtime.clear()
        self._canonical = prompt[:kept]
        for start in range(kept, len(prompt), batch):
            runtime.evaluate(prompt[start : start + batch])
        self._canonical = prompt[: len(prompt) // batch * batch]
        self.evaluated_prompt_tokens += len(prompt) - kept

    def _keep_prefix(self, prompt: list[int]) -> int:
        """Tokens at the cache's start that serve this prompt, fetched from the store if better.

        Always whole batches, and never the prompt's last token, whose logits are needed.
        """
        batch, runtime = self._runtime.n_batch, self._runtime

        def whole(tokens: Sequence[int]) -> int:
            return min(common_length(tokens, prompt), len(prompt) - 1) // batch * batch

        here = whole(self._canonical)
        stored, state = self._store.longest(prompt)
        there = whole(stored)
        if len(self._canonical) > here and runtime.truncate(len(self._canonical)):
            self._store.put(self._canonical, runtime.state_size(), runtime.save)
        if there > here:
            return there if runtime.restore(state) else 0
        return here

    def _generate(
        self, limit: int, sampler: sampling.Sampler, constraint: Constraint | None
    ) -> tuple[bytes, str, int]:
        """Bytes, finish and token count of the answer to the prompt in the cache."""
        runtime, watch = self._runtime, RepetitionWatch()
        data = bytearray()
        for count in range(1, limit + 1):
            logits = runtime.logits()
            if constraint is not None:
                constraint.mask(logits)
            token = sampler.pick(logits)
            if runtime.is_end(token):
                return bytes(data), "stop", count
            piece = runtime.piece(token)
            data += piece
            if constraint is not None and constraint.accept(token):
                return bytes(data), "stop", count
            if watch.feed(token, piece):
                return bytes(data), "repetition", count
            if count < limit:
                runtime.evaluate([token])
        return bytes(data), "length", limit
