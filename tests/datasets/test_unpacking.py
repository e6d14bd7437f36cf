"""Archives are unpacked whole, below their folder, or not at all."""

import io
import os
import stat
import tarfile
import zipfile

import pytest

from tailwise.datasets.catalogue import unpacking
from tailwise.datasets.catalogue.unpacking import unpack
from tailwise.datasets.formats.disk import file_errors_of
from tailwise.datasets.formats.output_folders import FolderKind, claimed_folder
from tailwise.errors import FileError


def make_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


KIND = FolderKind("record", "be one of these tests", lambda folder: ["old", "record"])


def make_tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            entry = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if isinstance(content, tarfile.TarInfo) else content
            entry.name, entry.size = name, len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def assert_refused(tmp_path, archive, message):
    before = {each.name for each in tmp_path.iterdir()}
    out = tmp_path / "out"
    with pytest.raises(FileError, match=message), claimed_folder(out, KIND) as draft, file_errors_of(out):
        unpack(archive, draft)
    assert {each.name for each in tmp_path.iterdir()} == before


MEMBERS = {"Data/train.txt": b"1 2 3\n" * 1000, "Data/inner/test.txt": b"", "readme": b"words"}


@pytest.mark.parametrize("make", [make_zip, make_tar], ids=["zip", "tar"])
def test_an_archive(tmp_path, make):
    archive = make(tmp_path / "a.bin", MEMBERS)
    with claimed_folder(tmp_path / "out", KIND) as draft:
        names = unpack(archive, draft)
    assert names == list(MEMBERS)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in names} == MEMBERS
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "out"]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_compressions_of_tar(tmp_path, mode):
    with claimed_folder(tmp_path / "out", KIND) as draft:
        assert unpack(make_tar(tmp_path / "a.bin", MEMBERS, mode), draft) == list(MEMBERS)


OUTSIDE = ["../evil.txt", "a/../../evil.txt", "/evil.txt", "..", "a\\..\\..\\evil.txt", "C:/evil.txt", "c:evil"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("make", [make_zip, make_tar], ids=["zip", "tar"])
def test_members_outside_the_folder(tmp_path, make, name):
    archive = make(tmp_path / "a.bin", {"fine.txt": b"fine", name: b"evil"})
    assert_refused(
        tmp_path, archive, r"a\.bin must hold only files inside its own folder\. Got the member .*Do not trust"
    )


KINDS = {
    "link": (tarfile.SYMTYPE, "/etc"),
    "hard link": (tarfile.LNKTYPE, "fine.txt"),
    "device": (tarfile.CHRTYPE, ""),
    "disk": (tarfile.BLKTYPE, ""),
    "pipe": (tarfile.FIFOTYPE, ""),
}


@pytest.mark.parametrize(("kind", "target"), KINDS.values(), ids=KINDS)
def test_links_and_devices_of_tar(tmp_path, kind, target):
    entry = tarfile.TarInfo()
    entry.type, entry.linkname = kind, target
    archive = make_tar(tmp_path / "a.tar", {"fine.txt": b"fine", "odd": entry})
    assert_refused(tmp_path, archive, r"must hold plain files\. 'odd' is a link or a device\. Do not trust it\.")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_of_zip(tmp_path, kind):
    entry = zipfile.ZipInfo("odd")
    entry.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert_refused(tmp_path, tmp_path / "a.zip", r"must hold plain files\. 'odd' is a link or a device")


def test_too_much(tmp_path, monkeypatch):
    archive = make_zip(tmp_path / "a.zip", MEMBERS)
    with monkeypatch.context() as patch:
        patch.setattr(unpacking, "MOST_BYTES", 100)
        assert_refused(tmp_path, archive, r"at most 100 bytes\. Got 6,005\. Unpack it by hand")
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 2)
    assert_refused(tmp_path, archive, r"must hold at most 2 files\. Got 3\.")
    monkeypatch.undo()
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(unpacking.shutil, "disk_usage", lambda folder: usage)
    assert_refused(tmp_path, archive, r"needs 6,005 bytes\. .* has 1,000 free\. Free some space\.")


def test_more_bytes_than_it_says(tmp_path):
    archive = make_zip(tmp_path / "a.zip", {"bomb": b"\0" * 100_000})
    content = bytearray(archive.read_bytes())
    for place in (content.index(b"PK\x01\x02") + 24, 22):  # the size, in the list and beside the data
        content[place : place + 4] = (5).to_bytes(4, "little")
    archive.write_bytes(content)
    assert_refused(tmp_path, archive, r"a\.zip must (hold what it says|be a complete and valid archive)")


def test_names_that_come_again(tmp_path):
    archive = make_tar(tmp_path / "a.tar", {"a.txt": b"1", "A.txt": b"2"})
    assert_refused(tmp_path, archive, r"must hold each file once\. Got 1 repeated names\.")


def test_nothing_in_it(tmp_path):
    assert_refused(tmp_path, make_zip(tmp_path / "a.zip", {}), r"must hold files\. It is empty\.")


@pytest.mark.parametrize("make", [make_zip, make_tar], ids=["zip", "tar"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_cut_short(tmp_path, make, share):
    archive = make(tmp_path / "a.bin", {"noise": os.urandom(50_000)})
    content = archive.read_bytes()
    archive.write_bytes(content[: int(share * len(content))])
    assert_refused(
        tmp_path, archive, r"a\.bin must be a complete and valid archive\. Reading it failed: .*Download it again"
    )


def test_a_changed_byte(tmp_path):
    archive = make_zip(tmp_path / "a.zip", {"noise": os.urandom(5_000)})
    content = bytearray(archive.read_bytes())
    content[2_000] ^= 1
    archive.write_bytes(content)
    assert_refused(tmp_path, archive, r"must be a complete and valid archive\. Reading it failed: .*CRC")


DAMAGE = r"a\.bin must be a complete and valid archive\. Reading it failed: .*\. Download it again\."


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_changed_byte_of_a_compressed_tar(tmp_path, mode):
    archive = make_tar(tmp_path / "a.bin", {"noise": os.urandom(5_000)}, mode)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    assert_refused(tmp_path, archive, DAMAGE)


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("missing", [1, 8, 20])
def test_the_end_is_missing(tmp_path, mode, missing):
    archive = make_tar(tmp_path / "a.bin", {"noise": os.urandom(5_000)}, mode)
    archive.write_bytes(archive.read_bytes()[:-missing])
    assert_refused(tmp_path, archive, DAMAGE)


@pytest.mark.parametrize("is_cut", [False, True], ids=["changed", "cut"])
def test_a_tar_without_its_second_member(tmp_path, is_cut):
    # The first member takes two blocks of 512 bytes; what is left looks whole to tarfile.
    archive = make_tar(tmp_path / "a.bin", {"first": b"1", "second": b"2"}, "w")
    content = bytearray(archive.read_bytes())
    content[1024] ^= 1
    archive.write_bytes(content[: 1024 if is_cut else None])
    assert_refused(tmp_path, archive, r"Reading it failed: it does not end after its last file\. Download it again\.")


def test_a_changed_byte_of_lzma_in_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.bin", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("words", b"some words " * 500)
    content = bytearray((tmp_path / "a.bin").read_bytes())
    content[60:80] = b"\xff" * 20
    (tmp_path / "a.bin").write_bytes(content)
    assert_refused(tmp_path, tmp_path / "a.bin", DAMAGE)


def test_a_name_of_no_letters(tmp_path):
    archive = make_zip(tmp_path / "a.zip", {zipfile.ZipInfo(""): b"words"})
    assert_refused(tmp_path, archive, r"must hold only files inside its own folder\. Got the member ''\.")


@pytest.mark.parametrize("make", [make_zip, make_tar], ids=["zip", "tar"])
def test_a_name_that_is_too_long(tmp_path, make):
    archive = make(tmp_path / "a.bin", {"a" * 300: b"words"})
    assert_refused(
        tmp_path,
        archive,
        r"file names that the disk accepts\. Got a name of 300 characters, 'a{40}'\. Unpack it by hand\.",
    )


@pytest.mark.parametrize("names", [("D", "D/x"), ("D/x", "D"), ("D", "D/x/y")], ids=" ".join)
def test_a_file_that_is_a_folder_too(tmp_path, names):
    archive = make_zip(tmp_path / "a.zip", dict.fromkeys(names, b"words"))
    message = rf"must not use a name for both a file and a folder\. Got the member '{names[1]}'\. Do not trust it\."
    assert_refused(tmp_path, archive, message)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk(tmp_path, monkeypatch):
    archive = make_zip(tmp_path / "a.zip", MEMBERS)
    full = io.FileIO("/dev/full", "wb")
    monkeypatch.setattr(unpacking, "open", lambda path, mode: full, raising=False)
    assert_refused(tmp_path, archive, r"out could not be written: No space left on device\. The file system at /")
