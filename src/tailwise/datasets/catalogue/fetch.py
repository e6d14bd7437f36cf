"""Data sets of the catalogue as folders: downloaded, unpacked from a local archive, or synthetic."""

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
from tailwise.datasets.formats.output_files import errors_naming
from tailwise.datasets.formats.output_folders import FolderKind, claimed_folder
from tailwise.datasets.formats.read_write import save
from tailwise.datasets.synthetic.shapes import make_like
from tailwise.errors import FileError, InputError, TailwiseError, extra_needed

ARCHIVE = "archive"
HEAD = 1000  # bytes from which a web page is recognised
PIECE = 1 << 18  # bytes written at a time
SECONDS = 60.0  # to wait for a response
RETRIES = 1  # of an interrupted download; each begins again from the start


def _list_files(folder: Path) -> list[str]:
    lock = read_lock(folder)
    return [LOCK, *({} if lock is None else lock["files"])]


DATA = FolderKind(
    LOCK,
    "hold a data set that tailwise wrote",
    _list_files,
    hint="It already holds a data set, which can be used. ",
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
    """Download or unpack a data set of the catalogue into a folder.

    The archive is compared with the checksum given, else with the one recorded by an earlier call with the same source
    and folder, else with the published one; if there is none, its checksum is recorded for later calls. The data are
    read once before they are put in place, so the folder never holds unreadable data.

    Parameters
    ----------
    name : str
        The data set.
    folder : str or path
        The folder to write; links are followed. Unless `overwrite` is set, it must be missing or empty. Its parent must
        exist.
    url : str, optional
        Address to download from instead of the one in the catalogue. Downloads need the extra ``data``.
    archive : str or path, optional
        A local archive to use instead of a download.
    sha256 : str, optional
        The checksum that the archive must have.
    overwrite : bool
        Whether to replace a data set that tailwise wrote to the folder, once the new one is complete.
    progress : bool
        Whether to show a progress bar of the download on standard error.
    on_part : callable, optional
        Called with the name ("train" or "test") and the contents of each part that was read.

    Returns
    -------
    Path
        The folder, with a lock file that records the source and all checksums.
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
    """Write data of :func:`make_like` to a folder: X, Y and the true probabilities of the test set (P.tst.npz)."""
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
        msg = f"The data must come from either url or archive. Got both, {url} and {archive}. Omit one of them."
        raise InputError(msg)
    if sha256 is not None and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        msg = f"sha256 must be 64 hexadecimal digits. Got {sha256!r}. Copy it completely from: sha256sum FILE"
        raise InputError(msg)
    if archive is not None and not os.path.isfile(archive):
        msg = f"archive must name a file that exists. Got {archive}. Check the spelling."
        raise FileError(msg)


@contextmanager
def _at_hand(source: str, folder: Path, archive: Any, *, progress: bool) -> Iterator[Path]:
    """Yield the given archive, or a download in a draft, which is removed at the end."""
    if archive is not None:
        yield Path(archive)
        return
    with drafted(folder) as draft, errors_naming(source, draft / ARCHIVE):
        _download(source, draft, progress=progress)
        yield draft / ARCHIVE


def _download(url: str, folder: Path, *, progress: bool) -> None:
    """Fetch a file over HTTP with pooch, which follows redirects and uses proxies from the environment."""
    if not _is_address(url):
        msg = f"url must begin with http:// or https:// and name a host. Got {url}. Check the spelling."
        raise InputError(msg)
    with extra_needed("Downloads need pooch", "'tailwise[data]'"):
        import pooch
        import requests
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
    remedy = "Try again, or download the archive with a browser and pass it as archive (--archive FILE)"
    msg = f"{url} could not be downloaded: {reason}. {remedy}."
    raise FileError(msg) from cause


def _check_archive(
    packed: Path, data: DataSet, sha256: str | None, earlier: dict[str, Any] | None, facts: dict[str, str]
) -> str:
    """Compare the archive with the best checksum known, and return a description of it."""
    remedy = f"download it again or, if you trust it, pass its checksum as sha256 (--sha256 {facts['sha256']})"
    if sha256 is not None:
        check_digest(packed, sha256, "as given", remedy)
        return "given by the user"
    if earlier is not None and earlier.get("sha256") and earlier.get("source") == facts["source"]:
        check_digest(packed, earlier["sha256"], "recorded on an earlier download", remedy)
        return "as recorded before"
    if data.md5 is not None:
        check_digest(packed, data.md5, f"as published for {data.name}", remedy, kind="md5")
        return "as published (md5)"
    return "recorded now, none is published"


def _read_parts(draft: Path, source: str, on_part: Callable[[str, Contents], None]) -> None:
    """Read all parts before they replace anything."""
    data = find_data(draft)
    if data is None:
        msg = (
            f"The archive must hold a data set that tailwise can read. Got {source}, which has neither Y.tst.npz nor "
            "test.txt nor tst_X_Y.txt. Use the archive of the data set."
        )
        raise FileError(msg)
    for part in data.labels:
        try:
            contents = data.load(part)
        except TailwiseError as error:
            reason = str(error).replace(f"{draft}{os.sep}", "")
            msg = f"The archive must hold a readable data set. Got {source}, but {reason}"
            raise FileError(msg) from error
        on_part(part, contents)
