from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.models import Embedder, open_embedder
from discernmem.replayers.models.embedders import LlamaEmbedder
from discernmem.replayers.models.sources import bundled_model

TEXTS = ["Pick up the ball.", "Grab the ball.", "The bank raised its interest rate."]


def vector(embedder: Embedder, text: str) -> NDArray[np.float32]:
    return np.frombuffer(embedder.embed(text), dtype="<f4")


@pytest.fixture(scope="module")
def words() -> Embedder:
    return open_embedder("wordllama")


def test_a_paraphrase_is_nearer_than_a_stranger_and_theta_lies_between(words: Embedder) -> None:
    ball, paraphrase, bank = (vector(words, text) for text in TEXTS)
    theta = words.card.facts["theta"]
    assert ball @ bank < theta < ball @ paraphrase


@pytest.mark.parametrize("text", [*TEXTS, "é\ud800", "x" * 20_000, "a"])
def test_vectors_have_unit_length_and_repeat_bit_for_bit(words: Embedder, text: str) -> None:
    made = vector(words, text)
    assert made.shape == (words.card.facts["dimensions"],)
    assert np.linalg.norm(made) == pytest.approx(1, abs=1e-6)
    assert words.embed(text) == words.embed(text)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_text_without_words_is_similar_to_nothing(words: Embedder, text: str) -> None:
    assert not vector(words, text).any()


def test_another_process_gives_the_same_bytes_and_the_root_logger_is_left_alone(
    words: Embedder,
) -> None:
    script = (
        "import logging; from discernmem.replayers.models import open_embedder;"
        "e = open_embedder(); print(e.embed('Pick up the ball.').hex(), e.card.fingerprint);"
        "assert not logging.getLogger().handlers and logging.getLogger().level == logging.WARNING"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [words.embed(TEXTS[0]).hex(), words.card.fingerprint]
    assert logging.getLogger("wordllama").getEffectiveLevel() >= logging.WARNING


@pytest.fixture(scope="module", params=["last", "mean"])
def embedder(request: pytest.FixtureRequest) -> Iterator[LlamaEmbedder]:
    made = LlamaEmbedder(bundled_model(), pooling=request.param, n_ctx=256)
    yield made
    made.close()


@pytest.mark.model
class TestLlamaEmbedder:
    def test_vectors_do_not_depend_on_what_was_embedded_before(
        self, embedder: LlamaEmbedder
    ) -> None:
        first = [embedder.embed(text) for text in TEXTS]
        again = [embedder.embed(text) for text in reversed(TEXTS)]
        assert first == again[::-1]
        assert len({*first}) == len(TEXTS)
        assert np.linalg.norm(np.frombuffer(first[0], "<f4")) == pytest.approx(1, abs=1e-6)
        assert len(first[0]) == 4 * embedder.card.facts["dimensions"]

    def test_a_text_without_words_is_similar_to_nothing(self, embedder: LlamaEmbedder) -> None:
        assert not np.frombuffer(embedder.embed(" "), "<f4").any()

    def test_a_text_that_does_not_fit_is_refused_with_both_numbers(
        self, embedder: LlamaEmbedder
    ) -> None:
        with pytest.raises(BadInput, match=r"text has \d+ tokens, the embedder takes 256"):
            embedder.embed("word " * 300)

    def test_pooling_and_theta_are_in_the_card(self, embedder: LlamaEmbedder) -> None:
        assert embedder.card.facts["pooling"] in ("last", "mean")
        assert embedder.card.facts["theta"] == 0.25
        assert embedder.card.facts["device"] == "CPU" or embedder.card.facts["flash_attention"]
