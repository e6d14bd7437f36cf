"""A data set of the catalogue in a folder: downloaded, from an archive at hand, or drawn."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailwise.datasets.catalogue import DataSet, find_data_set
from tailwise.datasets.files import save
from tailwise.datasets.locks import LOCK, check_digest, digest_of, read_lock, write_lock
from tailwise.datasets.shapes import make_like
from tailwise.datasets.writing import folder_written_beside
from tailwise.errors import FileError

__all__ = ["check_target_folder", "get_data", "write_synthetic"]


def get_data(
    name: str,
    folder: str | os.PathLike[str],
    *,
    url: str | None = None,
    archive: str | os.PathLike[str] | None = None,
    sha256: str | None = None,
    overwrite: bool = False,
    on_bytes: Callable[[int, int | None], None] = lambda done, total: None,
) -> Path:
    """Put a data set of the catalogue into a folder.

    The archive is compared with the checksum that is given, or else recorded by an earlier call with the same source
    and folder, or else published; where there is none, its own is recorded now, and compared ever after.

    Parameters
    ----------
    name : str
        The data set.
    folder : str or path
        Where to. It must not exist, or be empty, unless `overwrite`; the folder above it must exist.
    url : str, optional
        Another place than the catalogue's to download from.
    archive : str or path, optional
        An archive at hand; nothing is downloaded.
    sha256 : str, optional
        The checksum that the archive must have.
    overwrite : bool
        Replace what is in the folder, once the new data are there.
    on_bytes : callable, optional
        Called with the bytes downloaded so far, and in all.

    Returns
    -------
    Path
        The folder, with a lock file that records where the data came from and all checksums.
    """
    from tailwise.datasets.downloading import download  # imports much that nothing else needs
    from tailwise.datasets.unpacking import unpack

    data, target = find_data_set(name), Path(folder)
    check_target_folder(target, overwrite=overwrite)
    earlier = read_lock(target) if target.is_dir() else None
    given = Path(archive) if archive is not None else None
    source = str(given) if given is not None else url or data.url
    packed = given or target.parent / f".{data.name}.archive"
    if given is None:
        download(source, packed, on_bytes=on_bytes)
    elif not given.is_file():
        msg = f"archive must name a file that exists. Got {archive}. Check the spelling."
        raise FileError(msg)
    try:
        trust = _check_archive(packed, data, sha256, earlier, source)
        facts = {"name": data.name, "source": source, "sha256": digest_of(packed)}
        with folder_written_beside(target) as draft:
            names = unpack(packed, draft)
            write_lock(draft, names, **facts, checksum=trust, bytes=packed.stat().st_size)
    finally:
        if given is None:
            packed.unlink(missing_ok=True)
    return target


def write_synthetic(
    name: str, folder: str | os.PathLike[str], *, scale: float = 1.0, seed: int = 0, overwrite: bool = False
) -> Path:
    """Write :func:`make_like` to a folder: X and Y as .npz, and in P.tst.npz the true probabilities of the test set."""
    target = Path(folder)
    check_target_folder(target, overwrite=overwrite)
    data = make_like(name, scale=scale, seed=seed)
    with folder_written_beside(target) as draft:
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
    return target


def check_target_folder(target: Path, *, overwrite: bool) -> None:
    """Refuse a folder that cannot, or without `overwrite` should not, be written."""
    if not target.parent.is_dir():
        msg = f"The folder must lie in one that exists. Got {target}, but {target.parent} is none. Create it first."
        raise FileError(msg)
    if target.exists() and not target.is_dir():
        msg = f"The output must be a folder. Got {target}, which is a file. Choose another name."
        raise FileError(msg)
    if target.is_dir() and any(target.iterdir()) and not overwrite:
        locked = " It holds a data set already, which can be used as it is." if (target / LOCK).exists() else ""
        msg = f"The output must not exist yet. Got {target}, which does.{locked} Use --overwrite to replace it."
        raise FileError(msg)


def _check_archive(packed: Path, data: DataSet, sha256: str | None, earlier: dict[str, Any] | None, source: str) -> str:
    """Compare the archive with the best checksum that is known; gives in words which that was."""
    if sha256 is not None:
        check_digest(packed, sha256, "as you gave it")
        return "given by the user"
    if earlier is not None and earlier.get("sha256") and earlier.get("source") == source:
        check_digest(packed, earlier["sha256"], "recorded with an earlier download")
        return "as recorded before"
    if data.md5 is not None and source == data.url:
        check_digest(packed, data.md5, "as published", kind="md5")
        return "as published (md5)"
    return "recorded now, none is published"
