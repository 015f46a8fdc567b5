from __future__ import annotations

import pytest

from discernmem.replayers.models.llama.library import describe_device


@pytest.mark.parametrize(
    ("offload", "layers", "names", "said"),
    [
        (False, -1, [], "CPU"),
        (False, 99, ["CUDA0 (x)"], "CPU"),
        (True, 0, ["CUDA0 (x)"], "CPU"),
        (True, -1, ["CUDA0 (NVIDIA H200)"], "CUDA0 (NVIDIA H200)"),
        (True, -1, ["CUDA0 (a)", "CUDA1 (b)"], "CUDA0 (a), CUDA1 (b)"),
        (True, 12, ["Metal (M3)"], "Metal (M3), 12 layers; rest CPU"),
        (True, -1, [], "GPU"),
    ],
)
def test_the_device_named_is_the_one_that_computes(
    offload: bool, layers: int, names: list[str], said: str
) -> None:
    assert describe_device(offload=offload, gpu_layers=layers, names=names) == said
