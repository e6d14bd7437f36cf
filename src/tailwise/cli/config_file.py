"""Configuration files: options of a command from a TOML file, checked like those of the command line."""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

from tailwise.errors import FileError, InputError

FLAG = "--config"
NOT_IN_A_FILE = ("config", "help", "version")
KINDS = {int: "an integer", float: "a number", str: "text"}


class CommandParser(argparse.ArgumentParser):
    """A parser whose options may come from a file; those of the command line win."""

    takes_config = False
    _words: Sequence[str] = ()  # that are parsed
    build_all: Callable[[], CommandParser]  # of all commands; this parser may have only one of them

    def let_find_others(self, build_all: Callable[[], CommandParser]) -> None:
        """Let the commands of this parser look up the options of the others, so that one file can serve several."""
        for each in _walk(self):
            each.build_all = build_all

    @cached_property
    def all_options(self) -> dict[str, frozenset[str]]:
        """The options of every command that accepts a file, by the name of its table."""
        commands = [each for each in _walk(self.build_all()) if each.takes_config]
        return {"-".join(each.prog.split()[1:]): frozenset(each._find_actions()) for each in commands}

    def _find_actions(self) -> dict[str, argparse.Action]:
        """The options that a file may hold, by their keys."""
        return {name: action for action in self._actions for name in _names_of(action)}

    def error(self, message: str) -> NoReturn:
        """Report an error in one line, instead of below all options."""
        if message.endswith("expected one argument"):
            message += self._find_dash(message)
        self.exit(2, f"{self.prog}: error: {message}\nSee {self.prog} --help.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest the command that was probably meant, instead of listing all."""
        if action.nargs == argparse.PARSER and action.choices is not None and value not in action.choices:
            near = difflib.get_close_matches(str(value), action.choices, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Choose from {', '.join(action.choices)}."
            self.error(f"there is no command {value!r}. {hint}")
        super()._check_value(action, value)

    def _find_dash(self, message: str) -> str:
        """Say how to give a value that begins with a dash, if an option is followed by one."""
        flags = message.removeprefix("argument ").partition(":")[0].split("/")
        for flag, word in pairwise(self._words):
            if flag in flags and word.startswith("-") and not self._option_string_actions.keys() & {word}:
                joint = shlex.quote(f"{flag}={word}")
                return f". A value that begins with - needs =, as in {joint}"
        return ""

    def _refuse_unknown(self, words: Sequence[str]) -> None:
        near = difflib.get_close_matches(words[0].partition("=")[0], self._option_string_actions, n=1)
        hint = f". Did you mean {near[0]}?" if near else ""
        self.error(f"unrecognized arguments: {' '.join(words)}{hint}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, with the values of the file that --config names as defaults."""
        self._words = [*map(str, args or ())]
        path = _find_path(args) if self.takes_config else None
        lists = {} if path is None else self._set_values(path)
        options, others = super().parse_known_args(args, namespace)
        if self.takes_config:
            if others:
                self._refuse_unknown(others)
            options.actions = self._actions  # for messages
            if options.config != path:
                self.error(f"{FLAG} must be written in full, and once")
        for name, value in lists.items():
            if getattr(options, name) is None:
                setattr(options, name, value)
        return options, others

    def _set_values(self, path: str) -> dict[str, Any]:
        """Make the values of a file the defaults; return those of repeatable options, which argparse would extend."""
        file = ConfigFile(path, self.prog.split()[1:])
        if file.has_other_tables:
            file.check_tables(sorted(self.all_options))
        actions, lists = self._find_actions(), {}
        for key, value in file.values.items():
            action = actions.get(key.replace("_", "-"))
            if action is None and file.is_at_top(key) and self._is_of_another(key):
                continue
            if action is None:
                file.refuse_key(key, actions)
            assert action is not None
            action.required = False
            converted = file.convert(key, value, action)
            if isinstance(action, argparse._AppendAction):
                lists[action.dest] = converted
            else:
                self.set_defaults(**{action.dest: converted})
        return lists

    def _is_of_another(self, key: str) -> bool:
        return key.replace("_", "-") in frozenset().union(*self.all_options.values())


class ConfigFile:
    """The keys of a TOML file that are for one command: those at its top, then those of the table named after it."""

    def __init__(self, path: str, command: list[str]) -> None:
        self.path, self._text = path, _read_text(path)
        self._command = " ".join(command)
        tables = _parse(self._text, path)
        self.values = {key: value for key, value in tables.items() if not isinstance(value, dict)}
        self._own_table = "-".join(command)
        self._tables = {key: value for key, value in tables.items() if isinstance(value, dict)}
        self.values |= self._tables.get(self._own_table, {})

    @property
    def has_other_tables(self) -> bool:
        """Whether there are tables besides that of the command."""
        return not self._tables.keys() <= {self._own_table}

    def is_at_top(self, key: str) -> bool:
        """Whether a key is only at the top of the file, where it applies to all commands that have it."""
        return key not in self._tables.get(self._own_table, {})

    def check_tables(self, known: list[str]) -> None:
        """Refuse a table that is not named after a command."""
        for name in self._tables:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"Did you mean [{near[0]}]?" if near else f"There are: {', '.join(known)}."
                msg = f"{self._place_of_table(name)}: [{name}] is not a command of tailwise. {hint}"
                raise InputError(msg)

    def _place_of_table(self, name: str) -> str:
        pattern = re.compile(rf"""^\s*\[\s*["']?{re.escape(name)}["']?\s*[].]""")
        numbers = [x for x, line in enumerate(self._text.splitlines(), start=1) if pattern.match(line)]
        return f"{self.path}, line {numbers[0]}" if numbers else self.path

    def refuse_key(self, key: str, actions: Mapping[str, argparse.Action]) -> None:
        """Refuse a key that is not an option of the command; the help may show another name, such as DIR for data."""
        near = _find_near(key, actions)
        hint = f"Did you mean {near}?" if near else f"It has: {', '.join(sorted(actions))}."
        msg = f"{self._place(key)}: {key} is not an option of tailwise {self._command}. {hint}"
        raise InputError(msg)

    def convert(self, key: str, value: Any, action: argparse.Action) -> Any:
        """Return the value of an option, of the type that the command line would give it."""
        if action.nargs == 0:  # a flag
            if not isinstance(value, bool):
                self._refuse_value(key, "true or false", value)
            return action.const if value else action.default
        if action.nargs is None and not isinstance(action, argparse._AppendAction):
            return self._convert_one(key, value, action)
        n_values = action.nargs if isinstance(action.nargs, int) else None
        if action.nargs == "+" and not isinstance(value, list):
            value = [value]  # a single value of several possible ones
        if not isinstance(value, list) or n_values not in (None, len(value)) or not value:
            self._refuse_value(key, f"a list{f' of {n_values} values' if n_values else ''}", value)
        return [self._convert_one(key, each, action) for each in value]

    def _convert_one(self, key: str, value: Any, action: argparse.Action) -> Any:
        kind: Any = action.type or str
        if kind in KINDS:
            is_right = type(value) is kind or (kind is float and type(value) is int)
            if not is_right:
                self._refuse_value(key, KINDS[kind], value)
            converted = kind(value)
        else:
            try:
                converted = kind(str(value))
            except argparse.ArgumentTypeError as error:
                msg = f"{self._place(key)}: {error}"
                raise InputError(msg) from error
        if action.choices is not None and converted not in action.choices:
            self._refuse_value(key, f"one of {', '.join(map(str, action.choices))}", value)
        return converted

    def _refuse_value(self, key: str, rule: str, value: Any) -> None:
        msg = f"{self._place(key)}: {key} must be {rule}. Got {value!r}."
        raise InputError(msg)

    def _place(self, key: str) -> str:
        """Return the file and line of a key, for error messages."""
        pattern = re.compile(rf"""^\s*["']?{re.escape(key)}["']?\s*=""")
        table, found = "", [0]
        for number, line in enumerate(self._text.splitlines(), start=1):
            if header := re.match(r"\s*\[([^]]+)\]", line):
                table = header[1].strip(" \"'")
            if pattern.match(line) and table in ("", self._own_table):
                found.append(number)
        return f"{self.path}, line {found[-1]}" if found[-1] else self.path


def _find_path(arguments: Sequence[str] | None) -> str | None:
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument(FLAG)
    try:
        return finder.parse_known_args(arguments)[0].config
    except argparse.ArgumentError:  # without a file name, which the parser of the command reports
        return None


def _walk(parser: CommandParser) -> Iterator[CommandParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _walk(each)


def _names_of(action: argparse.Action) -> list[str]:
    """List the keys of an option: its long names, or the name of the argument; a letter only if it has no long name."""
    long = [flag[2:] for flag in action.option_strings if flag.startswith("--")]
    names = long or [flag[1:] for flag in action.option_strings] or [action.dest]
    return [name for name in names if name not in NOT_IN_A_FILE]


def _find_near(key: str, actions: Mapping[str, argparse.Action]) -> str | None:
    """The key that a wrong one was probably meant to be: by its name in the help, its letter, or a similar spelling."""
    word = key.replace("_", "-").lower()
    for name, action in actions.items():
        shown = action.metavar if isinstance(action.metavar, str) and not action.option_strings else ""
        if word in (
            shown.lower(),
            action.dest.replace("_", "-"),
            *(flag.lstrip("-") for flag in action.option_strings),
        ):
            return name
    near = difflib.get_close_matches(word, sorted(actions), n=1)
    starts = [name for name in sorted(actions) if len(word) > 2 and name.startswith(word)]
    return next(iter((*near, *starts)), None)


def _read_text(path: str) -> str:
    from tailwise.datasets.formats.disk import opened

    with opened(path) as file:
        content = file.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{path} must be a TOML file in UTF-8. Reading it failed: {error}."
        raise FileError(msg) from error


def _parse(text: str, path: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        msg = f'{path} must be a TOML file. Reading it failed: {error}. Write lines like: utility = "macro-f1"'
        raise InputError(msg) from error
