"""A data set of the catalogue in a folder: downloaded, from an archive at hand, or drawn."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from tailwise.datasets.catalogue.benchmarks import DataSet, find_data_set
from tailwise.datasets.catalogue.data_folder import LOCK, check_digest, find_data, read_lock, write_lock
from tailwise.datasets.catalogue.unpacking import unpack
from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import digest_of, file_errors_of, real
from tailwise.datasets.formats.drafts import drafted
from tailwise.datasets.formats.output_files import errors_told_of
from tailwise.datasets.formats.output_folders import FolderKind, claimed_folder
from tailwise.datasets.formats.read_write import save
from tailwise.datasets.synthetic.shapes import make_like
from tailwise.errors import FileError, InputError, MissingExtraError, TailwiseError

__all__ = ["DATA", "get_data", "write_synthetic"]

ARCHIVE = "archive"
HEAD = 1000  # bytes by which a web page is recognised
PIECE = 1 << 18  # bytes written at a time
SECONDS = 60.0  # to wait for an answer
RETRIES = 1  # of a download that broke off; it starts again from the beginning


def _list_files(folder: Path) -> list[str]:
    lock = read_lock(folder)
    return [LOCK, *({} if lock is None else lock["files"])]


DATA = FolderKind(
    LOCK,
    "hold a data set that tailwise put there",
    _list_files,
    hint="It holds a data set already, which can be used as it is. ",
)


def get_data(
    name: str,
    folder: str | os.PathLike[str],
    *,
    url: str | None = None,
    archive: str | os.PathLike[str] | None = None,
    sha256: str | None = None,
    overwrite: bool = False,
    progress: bool = False,
    on_part: Callable[[str, Contents], None] = lambda part, contents: None,
) -> Path:
    """Put a data set of the catalogue into a folder.

    The archive is compared with the checksum that is given, or else recorded by an earlier call with the same source
    and folder, or else published; where there is none, its own is recorded now, and compared ever after. What was
    unpacked is read before it takes its place, so that only data that can be read do.

    Parameters
    ----------
    name : str
        The data set.
    folder : str or path
        Where to; a link is followed. It must not exist, or be empty, unless `overwrite`; the folder above must exist.
    url : str, optional
        Another place than the catalogue's to download from. Downloads need the extra ``data``.
    archive : str or path, optional
        An archive at hand, in place of a download.
    sha256 : str, optional
        The checksum that the archive must have.
    overwrite : bool
        Replace a data set that tailwise put into the folder, once the new one is there.
    progress : bool
        Show a progress bar of the download on standard error.
    on_part : callable, optional
        Called with "train" and with "test", where there, and what was read of it.

    Returns
    -------
    Path
        The folder, with a lock file that records where the data came from and all checksums.
    """
    data, target = find_data_set(name), real(folder)
    _check_source(url, archive, sha256)
    source = str(archive) if archive is not None else data.url if url is None else url
    with claimed_folder(folder, DATA, overwrite=overwrite) as draft:
        earlier = read_lock(target)
        with _at_hand(source, draft.parents[1], archive, progress=progress) as packed:
            facts = {"name": data.name, "source": source, "sha256": digest_of(packed)}
            trust = _check_archive(packed, data, sha256, earlier, facts)
            with file_errors_of(folder):
                names = unpack(packed, draft)
            _read_parts(draft, source, on_part)
            write_lock(draft, names, **facts, checksum=trust, bytes=packed.stat().st_size)
    return Path(folder)


def write_synthetic(
    name: str, folder: str | os.PathLike[str], *, scale: float = 1.0, seed: int = 0, overwrite: bool = False
) -> Path:
    """Write :func:`make_like` to a folder: X and Y as .npz, and in P.tst.npz the true probabilities of the test set."""
    with claimed_folder(folder, DATA, overwrite=overwrite) as draft:
        data = make_like(name, scale=scale, seed=seed)
        matrices = {
            "X.trn.npz": data.train_features,
            "Y.trn.npz": data.train_labels,
            "X.tst.npz": data.test_features,
            "Y.tst.npz": data.test_labels,
            "P.tst.npz": data.probabilities,
        }
        for file, matrix in matrices.items():
            save(draft / file, matrix)
        write_lock(draft, matrices, name=data.name, source="synthetic", scale=scale, seed=seed)
    return Path(folder)


def _check_source(url: str | None, archive: Any, sha256: str | None) -> None:
    if url is not None and archive is not None:
        msg = f"The data must come from one place, url or archive. Got {url} and {archive}. Leave one out."
        raise InputError(msg)
    if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        msg = f"sha256 must be 64 hexadecimal digits. Got {sha256!r}. Copy all of it, or see: sha256sum FILE"
        raise InputError(msg)
    if archive is not None and not os.path.isfile(archive):
        msg = f"archive must name a file that exists. Got {archive}. Check the spelling."
        raise FileError(msg)


@contextmanager
def _at_hand(source: str, folder: Path, archive: Any, *, progress: bool) -> Iterator[Path]:
    """The archive that was given, or else a download in a draft, which is removed at the end."""
    if archive is not None:
        yield Path(archive)
        return
    with drafted(folder) as draft, errors_told_of(source, draft / ARCHIVE):
        _download(source, draft, progress=progress)
        yield draft / ARCHIVE


def _download(url: str, folder: Path, *, progress: bool) -> None:
    """Fetch a file over HTTP with pooch, which follows redirects and finds proxies in the environment."""
    if not _is_address(url):
        msg = f"url must be an address that begins with http:// or https://. Got {url}. Check the spelling."
        raise InputError(msg)
    try:
        import pooch
        import requests
    except ImportError as error:
        msg = "Downloads need pooch, which is not installed. Install it with: pip install 'tailwise[data]'"
        raise MissingExtraError(msg) from error
    pooch.get_logger().setLevel("ERROR")
    fetch = pooch.create(folder, "", registry={ARCHIVE: None}, urls={ARCHIVE: url}, retry_if_failed=RETRIES).fetch
    with file_errors_of(folder / ARCHIVE):
        try:
            fetch(ARCHIVE, downloader=pooch.HTTPDownloader(progressbar=progress, chunk_size=PIECE, timeout=SECONDS))
        except (requests.RequestException, ValueError) as error:
            _refuse_download(url, " ".join(str(error).split()), error)
    with open(folder / ARCHIVE, "rb") as file:
        if file.read(HEAD).lstrip().lower().startswith((b"<!doctype html", b"<html")):
            _refuse_download(url, "the server sent a web page, which may ask for consent")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _refuse_download(url: str, reason: str, cause: Exception | None = None) -> NoReturn:
    remedy = "Try again, or download the archive with a browser and give it as archive (--archive FILE)"
    msg = f"{url} could not be downloaded: {reason}. {remedy}."
    raise FileError(msg) from cause


def _check_archive(
    packed: Path, data: DataSet, sha256: str | None, earlier: dict[str, Any] | None, facts: dict[str, str]
) -> str:
    """Compare the archive with the best checksum that is known, and return in words which that was."""
    remedy = f"download it again, or if you trust it, give --sha256 {facts['sha256']}"
    if sha256 is not None:
        check_digest(packed, sha256, "as you gave it", remedy)
        return "given by the user"
    if earlier is not None and earlier.get("sha256") and earlier.get("source") == facts["source"]:
        check_digest(packed, earlier["sha256"], "recorded with an earlier download", remedy)
        return "as recorded before"
    if data.md5 is not None:
        check_digest(packed, data.md5, f"as published for {data.name}", remedy, kind="md5")
        return "as published (md5)"
    return "recorded now, none is published"


def _read_parts(draft: Path, source: str, on_part: Callable[[str, Contents], None]) -> None:
    """Read all that was unpacked, while nothing has been replaced by it."""
    data = find_data(draft)
    if data is None:
        msg = (
            f"The archive must hold a data set that tailwise reads. Got {source}, which has neither Y.tst.npz nor "
            "test.txt nor tst_X_Y.txt. Give the archive of the data set."
        )
        raise FileError(msg)
    for part in data.labels:
        try:
            contents = data.load(part)
        except TailwiseError as error:
            reason = str(error).replace(f"{draft}{os.sep}", "")
            msg = f"The archive must hold a data set that can be read. Got {source}, but {reason}"
            raise FileError(msg) from error
        on_part(part, contents)
