"""Text in JSON, of which nothing is known yet."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["parse_json"]


def parse_json(text: str | bytes, **options: Any) -> Any:
    """What the text says; a ValueError where it is not JSON, or is nested too deeply."""
    try:
        return json.loads(text, **options)
    except RecursionError as error:
        msg = "it is nested too deeply"
        raise ValueError(msg) from error
