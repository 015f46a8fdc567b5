"""The planning benchmark: AgentBoard's four domains, on a small grounded STRIPS core."""

from .benchmark import PddlBenchmark

__all__ = ["PddlBenchmark"]
