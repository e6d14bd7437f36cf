"""A data set of the catalogue in a folder: downloaded, from an archive at hand, or drawn."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tailwise.datasets.catalogue.benchmarks import DataSet, find_data_set
from tailwise.datasets.catalogue.data_folder import find_data
from tailwise.datasets.catalogue.source_lock import LOCK, check_digest, digest_of, read_lock, write_lock
from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.holding import held
from tailwise.datasets.formats.output_folders import FolderKind, claimed_folder
from tailwise.datasets.formats.read_write import save
from tailwise.datasets.formats.writing import file_errors_of, real
from tailwise.datasets.synthetic.shapes import make_like
from tailwise.errors import FileError, InputError, TailwiseError

__all__ = ["DATA", "get_data", "write_synthetic"]


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
    on_bytes: Callable[[int, int | None], None] = lambda done, total: None,
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
        Another place than the catalogue's to download from.
    archive : str or path, optional
        An archive at hand, in place of a download.
    sha256 : str, optional
        The checksum that the archive must have.
    overwrite : bool
        Replace a data set that tailwise put into the folder, once the new one is there.
    on_bytes : callable, optional
        Called with the bytes downloaded so far, and in all.
    on_part : callable, optional
        Called with "train" and with "test", where there, and what was read of it.

    Returns
    -------
    Path
        The folder, with a lock file that records where the data came from and all checksums.
    """
    from tailwise.datasets.catalogue.unpacking import unpack  # imports much that nothing else needs

    data, target = find_data_set(name), real(folder)
    _check_source(url, archive, sha256)
    source = str(archive) if archive is not None else data.url if url is None else url
    with claimed_folder(folder, DATA, overwrite=overwrite) as draft:
        earlier = read_lock(target)
        with _at_hand(source, target.parent / f".{data.name}.archive", archive, on_bytes) as packed:
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
def _at_hand(source: str, place: Path, archive: Any, on_bytes: Callable[[int, int | None], None]) -> Iterator[Path]:
    """The archive that was given, or else one that is downloaded, and gone in the end."""
    from tailwise.datasets.catalogue.downloading import download

    if archive is not None:
        yield Path(archive)
        return
    refusal = f"One process at a time may download {place.name}. Another one does. Wait for it to end."
    with ExitStack() as stack:
        with file_errors_of(place):
            stack.enter_context(held(place.with_name(f"{place.name}.lock"), refusal))
        download(source, place, on_bytes=on_bytes)
        try:
            yield place
        finally:
            place.unlink(missing_ok=True)


def _check_archive(
    packed: Path, data: DataSet, sha256: str | None, earlier: dict[str, Any] | None, facts: dict[str, str]
) -> str:
    """Compare the archive with the best checksum that is known; gives in words which that was."""
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
