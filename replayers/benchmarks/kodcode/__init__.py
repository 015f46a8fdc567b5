"""The programming benchmark: KodCode's questions, judged by hidden tests in a sandbox."""

from .benchmark import KodCodeBenchmark

__all__ = ["KodCodeBenchmark"]
