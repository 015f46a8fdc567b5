"""llama.cpp as a library: loaded late and quietly, and asked what it really is."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from ....eventlog.errors import Infrastructure
from ..machine import cpu_family

_ERROR = 4  # ggml's log level for errors; continued lines come as 5.
_LOG_TAIL = 8

_errors: list[str] = []
# The callback the library holds must outlive every call into it.
_held: list[Any] = []


@functools.cache
def load_library(*, verbose: bool = False) -> ModuleType:
    """The ``llama_cpp`` module, loaded on first use.

    Raises:
        Infrastructure: it is not installed, or its shared library does not load.
    """
    # Threads that spin while they wait starve any other computation on the same cores; sleeping
    # changes no bit. OpenMP reads this once, when the library loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        module = import_module("llama_cpp")
    except ImportError:
        raise Infrastructure(
            "llama-cpp-python is not installed: pip install 'discernmem[llama]'"
        ) from None
    except (OSError, RuntimeError) as error:
        raise Infrastructure(
            f"llama.cpp does not load ({error}); reinstall llama-cpp-python"
        ) from None

    def log(level: int, text: bytes, _data: object) -> None:
        line = text.decode("utf-8", "replace")
        if level == _ERROR:
            _errors.append(line.strip())
            del _errors[:-_LOG_TAIL]
        if verbose:
            sys.stderr.write(line)

    callback = module.llama_log_callback(log)
    _held.append(callback)
    module.llama_log_set(callback, ctypes.c_void_p(0))
    module.llama_backend_init()
    return module


def forget_errors() -> None:
    """Start afresh, so that `last_errors` speaks of the next step only."""
    _errors.clear()


def last_errors() -> str:
    """What the library complained of since, in one line."""
    return "; ".join(_errors) or "no reason given"


def build_facts(module: ModuleType) -> dict[str, str]:
    """What computes: versions of binding and library, processor features, processor family."""
    shared = module.llama_cpp._lib
    return {
        "binding": f"llama-cpp-python {module.__version__}",
        "build": f"ggml {_text(shared, 'ggml_version')} {_text(shared, 'ggml_commit')}",
        "features": " ".join(module.llama_print_system_info().decode().split()),
        "cpu": cpu_family(),
    }


def device(module: ModuleType, gpu_layers: int) -> str:
    """Where the layers are computed: what the library says, not what was asked for."""
    return describe_device(
        offload=bool(module.llama_supports_gpu_offload()),
        gpu_layers=gpu_layers,
        names=_device_names(module.llama_cpp._lib),
    )


def describe_device(*, offload: bool, gpu_layers: int, names: Iterable[str]) -> str:
    """``CPU``, or the accelerators' names, for example ``CUDA0 (NVIDIA H200)``.

    Args:
        offload: whether the library can give layers to an accelerator at all.
        gpu_layers: how many layers it is asked to give (negative: all).
        names: the accelerators the library lists.
    """
    if not offload or gpu_layers == 0:
        return "CPU"
    found = ", ".join(names) or "GPU"
    return found if gpu_layers < 0 else f"{found}, {gpu_layers} layers; rest CPU"


def _device_names(shared: ctypes.CDLL) -> list[str]:
    """Names of all devices but processors; empty for a library too old to list them."""
    try:
        count, get = shared.ggml_backend_dev_count, shared.ggml_backend_dev_get
        name, about = shared.ggml_backend_dev_name, shared.ggml_backend_dev_description
        kind = shared.ggml_backend_dev_type
    except AttributeError:
        return []
    count.restype, get.restype, get.argtypes = ctypes.c_size_t, ctypes.c_void_p, [ctypes.c_size_t]
    for function in (name, about, kind):
        function.argtypes = [ctypes.c_void_p]
    name.restype = about.restype = ctypes.c_char_p
    devices = [get(index) for index in range(count())]
    return [
        f"{name(each).decode()} ({about(each).decode()})" for each in devices if kind(each) != 0
    ]


def _text(shared: ctypes.CDLL, function: str) -> str:
    try:
        call = getattr(shared, function)
    except AttributeError:
        return "unknown"
    call.restype = ctypes.c_char_p
    return str(call().decode())
