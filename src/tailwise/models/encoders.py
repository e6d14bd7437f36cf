"""Encoders of texts: folders and names of Hugging Face, objects with `encode`, and functions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailwise.datasets.formats.disk import digest_of, parse_json
from tailwise.errors import FileError, InputError, extra_needed

if TYPE_CHECKING:
    from tailwise.models.embeddings import Embeddings

PRECISIONS = ("auto", "bf16", "fp32")
POOLINGS = ("auto", "mean", "first")
EXTRA = "'tailwise[text]'"
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
PLAIN_MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, eq=False)
class Encoder:
    """What turns a batch of texts into vectors, and what tells it apart from others."""

    encode: Callable[[list[str]], Any]
    identity: str


def open_encoder(options: Embeddings) -> Encoder:
    """Open the encoder that `options.model` stands for."""
    model = options.model
    if isinstance(model, (str, os.PathLike)):
        return _open_pretrained(options, os.fspath(model))
    if hasattr(model, "encode"):
        settings = [_name_of(model), str(getattr(model, "model_card_data", "")), options.precision]
        return Encoder(lambda texts: model.encode(texts, show_progress_bar=False), json.dumps(settings))
    if callable(model):
        return Encoder(model, _name_of(model))
    msg = (
        f"model must be a folder, a name, an object with a method encode, or a function. Got {type(model).__name__}. "
        "Pass the path of a folder with config.json and weights."
    )
    raise InputError(msg)


def import_torch() -> Any:
    """Import torch, or say how to install it."""
    with extra_needed("Text models need torch", EXTRA):
        import torch
    return torch


def import_transformers() -> Any:
    """Import transformers, or say how to install it."""
    import_torch()
    with extra_needed("Pretrained encoders need transformers", EXTRA):
        import transformers
    return transformers


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on a processor or on a GPU."""
    words = str(error).lower()
    is_torch = isinstance(error, RuntimeError) and ("out of memory" in words or "can't allocate memory" in words)
    return isinstance(error, MemoryError) or is_torch


def load_pretrained(name: str, **options: Any) -> tuple[Any, Any]:
    """Load the tokenizer and the network of a folder or a name."""
    transformers = import_transformers()
    _check_folder(name)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        return tokenizer, transformers.AutoModel.from_pretrained(name, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        if os.path.isdir(name):
            msg = f"model must be a complete folder of an encoder. Got {name}: {reason}. Copy or download it again."
        else:
            msg = (
                f"model must be a folder, or a name that can be downloaded. Got {name!r}: {reason}. Without a network, "
                "download it elsewhere (hf download NAME --local-dir FOLDER), copy that folder, and pass its path."
            )
        raise FileError(msg) from error


def choose_precision(torch: Any, precision: str, device: str) -> Any:
    """Return the number format of an encoder."""
    if precision != "auto":
        return torch.bfloat16 if precision == "bf16" else torch.float32
    if device.startswith("cuda"):
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return torch.bfloat16 if device == "cpu" and _has_bf16() else torch.float32


def choose_device(torch: Any, device: str | None) -> str:
    """Return the device asked for, or a GPU if there is one."""
    return device or ("cuda" if torch.cuda.is_available() else "cpu")


def _has_bf16() -> bool:
    """Whether this processor multiplies numbers in bf16."""
    from llvmlite.binding import get_host_cpu_features

    features = get_host_cpu_features()
    return any(features.get(name, False) for name in ("avx512bf16", "amx-bf16", "bf16"))


def _open_pretrained(options: Embeddings, name: str) -> Encoder:
    torch = import_torch()
    device = choose_device(torch, options.device)
    precision = choose_precision(torch, options.precision, device)
    settings = [_fingerprint(name), options.max_length, str(precision)]
    if not _is_plain(name):
        with extra_needed(f"{name} has modules that need sentence-transformers", EXTRA):
            import sentence_transformers
        model = sentence_transformers.SentenceTransformer(name, device=device)
        model.max_seq_length = options.max_length
        return Encoder(lambda texts: model.encode(texts, show_progress_bar=False), json.dumps(settings))
    pooling = _find_pooling(name) if options.pooling == "auto" else options.pooling
    tokenizer, network = load_pretrained(name, dtype=precision)
    network = network.eval().to(device)

    def encode(texts: list[str]) -> Any:
        batch = tokenizer(texts, truncation=True, max_length=options.max_length, padding=True, return_tensors="pt")
        batch = batch.to(device)
        with torch.inference_mode():
            states = network(**batch).last_hidden_state.float()
        mask = batch["attention_mask"][..., None].float()
        pooled = states[:, 0] if pooling == "first" else (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        return pooled.cpu().numpy()

    return Encoder(encode, json.dumps([*settings, pooling]))


def _check_folder(name: str) -> None:
    """Refuse a folder without a network, and a path that does not exist."""
    path = Path(name)
    if path.is_dir():
        has_weights = any(True for pattern in WEIGHTS for _ in path.glob(pattern))
        parts = {"config.json": (path / "config.json").is_file(), "weights": has_weights}
        missing = [part for part, is_there in parts.items() if not is_there]
        if missing:
            msg = (
                f"model must be a complete folder of an encoder. Got {name} without {' and '.join(missing)}. "
                "Copy or download it again."
            )
            raise FileError(msg)
    elif path.is_absolute() or name.startswith(".") or path.exists():
        msg = f"model must be a folder that exists, or a name. Got {name}. Check the spelling."
        raise FileError(msg)


def _fingerprint(name: str) -> str:
    """The name of a model, or the checksums of the configuration and the weights in a folder."""
    path = Path(name)
    if not path.is_dir():
        return name
    files = sorted(each for pattern in (*WEIGHTS, "*.json", "*.txt") for each in path.glob(pattern))
    return " ".join(f"{each.name}:{digest_of(each)}" for each in files)


def _is_plain(name: str) -> bool:
    """Whether transformers suffice: no modules of sentence-transformers, or only usual ones."""
    path = Path(name) / "modules.json"
    if not path.is_file():
        return True
    return all(str(each.get("type", "")).endswith(PLAIN_MODULES) for each in parse_json(path.read_bytes()))


def _find_pooling(name: str) -> str:
    """Read the pooling of a folder of sentence-transformers."""
    path = Path(name) / "1_Pooling" / "config.json"
    found = parse_json(path.read_bytes()) if path.is_file() else {}
    return "first" if found.get("pooling_mode_cls_token") else "mean"


def _name_of(model: Any) -> str:
    home = model if hasattr(model, "__qualname__") else type(model)
    return f"{home.__module__}.{home.__qualname__}"
