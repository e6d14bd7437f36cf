"""Parameters of models within a model, by names such as ``tree__C``, as scikit-learn writes them."""

from __future__ import annotations

from typing import Any, NoReturn

from tailwise.errors import InputError

Members = list[tuple[str, Any, str]]  # name, model and part of the features

SEPARATOR = "__"
NEEDED = ("fit", "predict_proba", "check_parameters", "get_params", "set_params")  # methods of a member


def read_members(given: Any) -> Members:
    """Return name, model and part of each member; refuse what is none."""
    if not isinstance(given, (list, tuple)):
        _refuse_member(given)
    for each in given:
        is_named = isinstance(each, (list, tuple)) and len(each) in (2, 3) and isinstance(each[0], str)
        if not is_named or isinstance(each[1], type) or not all(hasattr(each[1], name) for name in NEEDED):
            _refuse_member(each)
    return [(*member, "all") if len(member) == 2 else tuple(member) for member in given]


def _refuse_member(came: Any) -> NoReturn:
    rule = "members must be a list of (name, model) or (name, model, part), with models of tailwise"
    msg = f"{rule}. Got {came!r:.60}. Use for instance [('tree', LabelTree()), ('neighbours', Neighbours())]."
    raise InputError(msg)


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
