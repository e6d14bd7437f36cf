"""The HTML templates and their rendering. Every value is escaped, and missing values are errors."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

from tailwise import __version__
from tailwise.reports import words

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render"]


def render(template: str, **context: Any) -> str:
    """Render a template of this folder."""
    return _environment().get_template(template).render(**context)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tailwise.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= dict(inspect.getmembers(words, inspect.isfunction))
    environment.globals |= {"version": __version__, "MEANINGS": words.MEANINGS}
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment
