"""Downloads that go on where they stopped. urllib finds proxies in the environment by itself."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import string
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tailwise.datasets.formats.json_text import parse_json
from tailwise.errors import FileError, InputError

__all__ = ["download"]

PIECE = 1 << 18
SECONDS = 60.0  # without an answer
ATTEMPTS = 5
AGENT = "tailwise"


class _Broken(Exception):
    """The connection ended before the file did."""


class _Misfit(_Broken):
    """What the server has is not what the part is of: only another beginning helps."""


def download(
    url: str,
    target: str | os.PathLike[str],
    *,
    on_bytes: Callable[[int, int | None], None] = lambda done, total: None,
    attempts: int = ATTEMPTS,
    pause: float = 1.0,
) -> None:
    """Fetch a file over HTTP.

    What has come so far lies beside the target, in a file ``.NAME.part``, and is kept when the connection breaks or
    Ctrl-C ends the work: the next call goes on from there. The target itself appears whole or not at all.

    Parameters
    ----------
    url : str
        An address that begins with http:// or https://.
    target : str or path
        Where to; its folder must exist.
    on_bytes : callable, optional
        Called with the bytes that are there and the bytes in all (None where unknown).
    attempts : int
        How often a broken connection is taken up again.
    pause : float
        Seconds before the second attempt; doubled before each further one.
    """
    _check_address(url)
    target = Path(target)
    part = target.with_name(f".{target.name}.part")
    for attempt in range(attempts):
        try:
            _fetch(url, part, on_bytes)
            break
        except urllib.error.HTTPError as error:
            _refuse(url, f"the server answered {error.code} {error.reason}", error)
        except _Broken as error:
            if attempt == attempts - 1:
                _refuse(url, f"the connection failed ({error})", error)
            time.sleep(pause * 2**attempt)
    os.replace(part, target)
    _notes_of(part).unlink(missing_ok=True)


def _check_address(url: str) -> None:
    try:
        parts = urllib.parse.urlsplit(url)
        is_fit = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fit = False
    if not is_fit:
        msg = f"url must be an address that begins with http:// or https://. Got {url}. Check the spelling."
        raise InputError(msg)


def _refuse(url: str, reason: str, error: BaseException) -> NoReturn:
    reason = " ".join(reason.split())  # what a server sends may have several lines
    msg = (
        f"{url} could not be downloaded: {reason}. Try again, which goes on where this stopped, or download it with a "
        "browser and give it with --archive."
    )
    raise FileError(msg) from error


def _fetch(url: str, part: Path, on_bytes: Callable[[int, int | None], None]) -> None:
    """Fetch all that is missing; a part that is of another file, or of the same but changed one, begins anew."""
    notes = _read_notes(part, url)
    done = part.stat().st_size if notes is not None and part.exists() else 0
    try:
        with _ask(url, done, notes) as answer:
            done, total = _agree(answer, done, notes)
            _check_answer(url, answer, part, total, done)
            _copy(url, answer, part, done, total, on_bytes)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not done:
            raise
        if notes is not None and notes["total"] == done:  # all was there already
            return
        _discard(part)
        msg = "the part that was there does not fit"
        raise _Misfit(msg) from error
    except _Misfit:
        _discard(part)
        raise


def _ask(url: str, done: int, notes: dict[str, Any] | None) -> Any:
    """The server's answer to a request for all bytes, or for those that are missing."""
    parts = urllib.parse.urlsplit(url)
    path, query = (urllib.parse.quote(text, safe=string.punctuation) for text in (parts.path, parts.query))
    request = urllib.request.Request(
        parts._replace(path=path, query=query).geturl(), headers={"User-Agent": AGENT, "Accept-Encoding": "identity"}
    )
    if done and notes is not None:
        request.add_header("Range", f"bytes={done}-")
        if notes["validator"]:
            request.add_header("If-Range", notes["validator"])
    try:
        # Not urlopen, which keeps the proxies that it found when it was first called.
        return urllib.request.build_opener().open(request, timeout=SECONDS)
    except urllib.error.HTTPError:
        raise
    except (ValueError, http.client.InvalidURL) as error:
        _refuse(url, f"it is, or leads to, an address that is not valid ({error})", error)
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(error) from error


def _agree(answer: Any, done: int, notes: dict[str, Any] | None) -> tuple[int, int | None]:
    """Where the answer begins, and the size of the whole file."""
    if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
        return 0, _number(answer.headers.get("Content-Length", ""))
    span, _, size = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    total, validator = _number(size), _validator_of(answer)
    known = notes or {"total": None, "validator": None}
    pairs = ((total, known["total"]), (validator, known["validator"]))
    is_same = all(None in (came, before) or came == before for came, before in pairs)
    if _number(span.partition("-")[0]) != done or not is_same:
        msg = "the server sent another part than was asked for"
        raise _Misfit(msg)
    return done, known["total"] if total is None else total


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def _check_answer(url: str, answer: Any, part: Path, total: int | None, done: int) -> None:
    if answer.headers.get_content_type() == "text/html":
        msg = (
            f"{url} must be an archive. The server sent a web page, which may ask for consent. "
            "Open the address in a browser, download the archive, and give it with --archive."
        )
        raise FileError(msg)
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - done > free:
        msg = f"The disk must have room for {total:,} bytes. {part.parent} has {free:,} free. Free the space."
        raise FileError(msg)


def _copy(
    url: str, answer: Any, part: Path, done: int, total: int | None, on_bytes: Callable[[int, int | None], None]
) -> None:
    try:
        with open(part, "ab" if done else "wb") as file:
            _write_notes(part, url, answer, total)  # after an old part is gone, lest they be taken for notes on it
            while piece := _read(answer):
                file.write(piece)
                done += len(piece)
                on_bytes(done, total)
    except OSError as error:
        _discard(part)  # the disk may be full of it
        msg = f"{part} could not be written: {error.strerror or error}. Free the space or choose another folder."
        raise FileError(msg) from error
    if total is not None and done != total:
        msg = f"it ended after {done:,} of {total:,} bytes"
        raise _Broken(msg)


def _read(answer: Any) -> bytes:
    """The next bytes as they come, so that little is lost when the connection breaks."""
    try:
        return answer.read1(PIECE)
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(error) from error


def _discard(part: Path) -> None:
    for path in (part, _notes_of(part)):
        path.unlink(missing_ok=True)


# What is known of the file behind a part


def _notes_of(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_notes(part: Path, url: str) -> dict[str, Any] | None:
    try:
        notes = parse_json(_notes_of(part).read_text(encoding="utf-8"))
        return notes if notes["url"] == url and {"validator", "total"} <= notes.keys() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_notes(part: Path, url: str, answer: Any, total: int | None) -> None:
    notes = {"url": url, "validator": _validator_of(answer), "total": total}
    _notes_of(part).write_text(json.dumps(notes), encoding="utf-8", newline="\n")


def _validator_of(answer: Any) -> str | None:
    """What the server would change with the file."""
    tag = answer.headers.get("ETag") or ""
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified")
