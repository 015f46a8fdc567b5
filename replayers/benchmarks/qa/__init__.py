"""Questions that a team answers by looking things up: TriviaQA, PopQA, and a set of our own."""

from .benchmark import PopQaBenchmark, TriviaQaBenchmark

__all__ = ["PopQaBenchmark", "TriviaQaBenchmark"]
