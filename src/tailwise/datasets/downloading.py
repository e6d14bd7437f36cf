"""Downloads that go on where they stopped. urllib finds proxies in the environment by itself."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tailwise.errors import FileError, InputError

__all__ = ["download"]

PIECE = 1 << 18
SECONDS = 60.0  # without an answer
ATTEMPTS = 5
AGENT = "tailwise"
BROKEN = (http.client.HTTPException, ConnectionError, TimeoutError, urllib.error.URLError)


class _Broken(Exception):
    """The connection ended before the file did."""


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
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        msg = f"url must begin with http:// or https://. Got {url}."
        raise InputError(msg)
    target = Path(target)
    part = target.with_name(f".{target.name}.part")
    for attempt in range(attempts):
        try:
            _fetch(url, part, on_bytes)
            break
        except urllib.error.HTTPError as error:
            _refuse(url, f"the server answered {error.code} {error.reason}", error)
        except (_Broken, *BROKEN) as error:
            if attempt == attempts - 1:
                _refuse(url, f"the connection failed ({error})", error)
            time.sleep(pause * 2**attempt)
    os.replace(part, target)
    _notes_of(part).unlink(missing_ok=True)


def _refuse(url: str, reason: str, error: BaseException) -> NoReturn:
    msg = (
        f"{url} could not be downloaded: {reason}. Try again, which goes on where this stopped, or download it with a "
        "browser and give it with --archive."
    )
    raise FileError(msg) from error


def _fetch(url: str, part: Path, on_bytes: Callable[[int, int | None], None]) -> None:
    """Fetch all that is missing; a part that is of another file, or of the same but changed one, begins anew."""
    done = part.stat().st_size if part.exists() else 0
    notes = _read_notes(part, url)
    request = urllib.request.Request(url, headers={"User-Agent": AGENT, "Accept-Encoding": "identity"})
    if done and notes is not None:
        request.add_header("Range", f"bytes={done}-")
        if notes["validator"]:
            request.add_header("If-Range", notes["validator"])
    try:
        # Not urlopen, which keeps the proxies that it found when it was first called.
        with urllib.request.build_opener().open(request, timeout=SECONDS) as answer:
            done, total = _agree(answer, done, notes)
            _check_answer(url, answer, part, total, done)
            _write_notes(part, url, answer, total)
            _copy(answer, part, done, total, on_bytes)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        if notes is not None and notes["total"] == done:  # all was there already
            return
        part.unlink()
        msg = "the part that was there does not fit"
        raise _Broken(msg) from error


def _agree(answer: Any, done: int, notes: Any) -> tuple[int, int | None]:
    """Where the answer begins, and the size of the whole file."""
    length = answer.headers.get("Content-Length")
    if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
        return 0, None if length is None else int(length)
    span, _, total = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    is_same = notes["total"] in (None, int(total) if total.isdigit() else None)
    if span.partition("-")[0] != str(done) or not is_same:
        msg = "the server sent another part than was asked for"
        raise _Broken(msg)
    return done, int(total) if total.isdigit() else None


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


def _copy(answer: Any, part: Path, done: int, total: int | None, on_bytes: Callable[[int, int | None], None]) -> None:
    try:
        with open(part, "ab" if done else "wb") as file:
            while piece := answer.read1(PIECE):  # as it comes, so that little is lost when the connection breaks
                file.write(piece)
                done += len(piece)
                on_bytes(done, total)
    except BROKEN:
        raise
    except OSError as error:
        part.unlink(missing_ok=True)  # the disk may be full of it
        msg = f"{part} could not be written: {error.strerror or error}. Free the space or choose another folder."
        raise FileError(msg) from error
    if total is not None and done != total:
        msg = f"it ended after {done:,} of {total:,} bytes"
        raise _Broken(msg)


# What is known of the file behind a part


def _notes_of(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_notes(part: Path, url: str) -> dict[str, Any] | None:
    try:
        notes = json.loads(_notes_of(part).read_text(encoding="utf-8"))
        return notes if notes["url"] == url and {"validator", "total"} <= notes.keys() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_notes(part: Path, url: str, answer: Any, total: int | None) -> None:
    tag = answer.headers.get("ETag") or ""
    validator = tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified")
    notes = {"url": url, "validator": validator, "total": total}
    _notes_of(part).write_text(json.dumps(notes), encoding="utf-8")
