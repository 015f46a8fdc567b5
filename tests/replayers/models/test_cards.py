from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discernmem.replayers.models.cards import clean, make_card


def test_only_deciding_facts_change_the_fingerprint() -> None:
    card = make_card({"sha256": "a", "n_batch": 64}, {"threads": 2})
    assert card.fingerprint == make_card({"n_batch": 64, "sha256": "a"}, {}).fingerprint
    assert card.fingerprint != make_card({"sha256": "a", "n_batch": 128}, {}).fingerprint
    assert card.facts == {"sha256": "a", "n_batch": 64, "threads": 2}


@given(st.text(st.characters(), max_size=30))
def test_clean_text_is_valid_and_ordinary_text_is_untouched(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    if not any(0xD800 <= ord(character) < 0xE000 for character in text):
        assert cleaned == text
