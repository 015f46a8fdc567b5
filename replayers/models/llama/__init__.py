"""llama.cpp behind the model protocol; the library itself loads with the first model."""

from .model import LlamaModel

__all__ = ["LlamaModel"]
