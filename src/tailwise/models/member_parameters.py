"""Parameters of models within a model, by names such as ``tree__C``, as scikit-learn writes them."""

from __future__ import annotations

from typing import Any

Members = list[tuple[str, Any, str]]  # name, model and part of the features

SEPARATOR = "__"


def get_deep(own: dict[str, Any], members: Members) -> dict[str, Any]:
    """Return the parameters of a model, its members as they are, and their parameters."""
    found = {**own, "members": members}
    for name, model, _ in members:
        found[name] = model
        found |= {f"{name}{SEPARATOR}{key}": value for key, value in model.get_params().items()}
    return found


def split_deep(
    given: dict[str, Any], members: Members
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], Members | None]:
    """Return the parameters of the model itself, those of each member, and the members if any of them changes."""
    own: dict[str, Any] = {}
    of_members: dict[str, dict[str, Any]] = {}
    known = {name: model for name, model, _ in members}
    replaced = {name: given[name] for name in known if name in given}
    for key, value in given.items():
        name, separator, rest = key.partition(SEPARATOR)
        if separator and name in known:
            of_members.setdefault(name, {})[rest] = value
        elif key not in replaced:
            own[key] = value
    if not (of_members or replaced):
        return own, {}, None
    return own, of_members, [(name, replaced.get(name, model), part) for name, model, part in members]
