"""The catalogue's figures agree with each other, and a data set comes from a server, an archive, or a seed."""

import hashlib
import io
import json
import os
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from tailwise.datasets import (
    CATALOGUE,
    find_data_set,
    get_data,
    make_like,
    open_folder,
    save,
    write_synthetic,
)
from tailwise.datasets.catalogue import benchmarks as catalogue
from tailwise.datasets.catalogue.data_folder import LOCK, read_lock, verify_folder
from tailwise.datasets.catalogue.fetch import DATA
from tailwise.datasets.formats.output_folders import check_folder
from tailwise.errors import FileError, InputError, MachineError

NAMES = ["Eurlex-4K", "Wiki10-31K", "AmazonCat-13K", "WikipediaLarge-500K", "Amazon-670K"]


def test_the_data_sets_of_the_paper_and_three_more():
    assert [each.name for each in CATALOGUE] == [*NAMES, "Delicious-200K", "WikiLSHTC-325K", "Amazon-3M"]


@pytest.mark.parametrize("data", CATALOGUE, ids=lambda data: data.name)
def test_the_figures_agree(data):
    # Labels in all, counted by label and by point, over the training points or over all points.
    by_label = data.points_per_label * data.n_labels
    shares = [by_label / (data.labels_per_point * n) for n in (data.n_train, data.n_train + data.n_test)]
    assert min(abs(share - 1) for share in shares) < 0.002
    assert data.licence
    assert data.source.startswith("http")
    assert data.url.startswith("https://")


@pytest.mark.parametrize(
    ("name", "pair"), [("Amazon-3M", (0.6, 2.6)), ("WikiLSHTC-325K", (0.5, 0.4)), ("Wiki10-31K", (0.55, 1.5))]
)
def test_propensities(name, pair):
    assert find_data_set(name).propensity == pair


def test_names_in_any_case():
    assert find_data_set("amazoncat-13k").n_labels == 13_330


@pytest.mark.parametrize(
    ("name", "message"), [("eurlex4k", r"Did you mean Eurlex-4K\?"), ("xyz", r"Choose one of Eurlex-4K, ")]
)
def test_unknown_names(name, message):
    with pytest.raises(InputError, match=rf"name must be a data set of the catalogue\. Got '{name}'\. {message}"):
        find_data_set(name)


# From a server or an archive


def make_archive(train=b"2 3 4\n1 0:1\n2 1:1\n"):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in (("train", train), ("test", b"1 3 4\n3 2:1\n")):
            archive.writestr(zipfile.ZipInfo(f"Eurlex/eurlex_{name}.txt"), content)  # of no time, so of the same bytes
    return packed.getvalue()


@pytest.fixture
def url(server):
    server.files["/eurlex.zip"] = make_archive()
    return server.url + "/eurlex.zip"


def test_a_data_set_from_a_server(server, url, tmp_path):
    folder = get_data("wiki10-31k", tmp_path / "out", url=url)
    assert os.listdir(tmp_path) == ["out"]
    data = open_folder(folder)
    assert data.load("train").matrix.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]
    assert data.load("test").features.toarray().tolist() == [[0, 0, 1]]
    lock = read_lock(folder)
    assert lock["sha256"] == hashlib.sha256(make_archive()).hexdigest()
    assert (lock["name"], lock["source"]) == ("Wiki10-31K", url)
    assert lock["checksum"] == "recorded now, none is published"
    assert verify_folder(folder, lock) == 2


def test_the_recorded_checksum_is_compared(server, url, tmp_path):
    get_data("Wiki10-31K", tmp_path / "out", url=url)
    get_data("Wiki10-31K", tmp_path / "out", url=url, overwrite=True)
    assert read_lock(tmp_path / "out")["checksum"] == "as recorded before"
    before = read_lock(tmp_path / "out")
    server.files["/eurlex.zip"] = make_archive(b"1 3 4\n1 0:1\n")
    with pytest.raises(
        FileError, match=r"must have the sha256 \w{64}, recorded on an earlier download\. Got \w{64}\. The file"
    ):
        get_data("Wiki10-31K", tmp_path / "out", url=url, overwrite=True)
    assert read_lock(tmp_path / "out") == before
    assert os.listdir(tmp_path) == ["out"]


def test_a_checksum_that_is_given(url, tmp_path):
    with pytest.raises(
        FileError, match=r"must have the sha256 0{64}, as given\. Got \w{64}\. .*trust it, .*--sha256 \w{64}"
    ):
        get_data("Wiki10-31K", tmp_path / "out", url=url, sha256="0" * 64)
    assert not os.listdir(tmp_path)
    get_data("Wiki10-31K", tmp_path / "out", url=url, sha256=hashlib.sha256(make_archive()).hexdigest().upper())
    assert read_lock(tmp_path / "out")["checksum"] == "given by the user"


@pytest.mark.parametrize("place", ["catalogue", "url", "archive"])
def test_a_checksum_that_is_published(url, tmp_path, monkeypatch, place):
    (tmp_path / "a.zip").write_bytes(make_archive())
    options = {"catalogue": {}, "url": {"url": url + "?"}, "archive": {"archive": tmp_path / "a.zip"}}[place]
    for content, fits in ((make_archive(), True), (b"other", False)):
        data = replace(CATALOGUE[0], url=url, md5=hashlib.md5(content).hexdigest())
        monkeypatch.setattr(catalogue, "CATALOGUE", (data,))
        if fits:
            get_data("Eurlex-4K", tmp_path / "out", **options)
            assert read_lock(tmp_path / "out")["checksum"] == "as published (md5)"
        else:
            with pytest.raises(FileError, match=r"the md5 \w{32}, as published for Eurlex-4K\. Got \w{32}\.") as caught:
                get_data("Eurlex-4K", tmp_path / "other", **options)
    sha256 = str(caught.value).rpartition("(--sha256 ")[2].rstrip(").")
    get_data("Eurlex-4K", tmp_path / "other", sha256=sha256, **options)
    assert read_lock(tmp_path / "other")["checksum"] == "given by the user"


@pytest.mark.parametrize("sha256", ["", "zz", "0" * 63, "0" * 65, "0" * 64 + "\n", "g" * 64])
def test_a_checksum_that_is_none(server, url, tmp_path, sha256):
    with pytest.raises(InputError, match=r"sha256 must be 64 hexadecimal digits\. Got '.*'\. Copy it completely"):
        get_data("Eurlex-4K", tmp_path / "out", url=url, sha256=sha256)
    assert not server.requests


def test_an_archive_at_hand(tmp_path):
    (tmp_path / "a.zip").write_bytes(make_archive())
    get_data("Wiki10-31K", tmp_path / "out", archive=tmp_path / "a.zip")
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "out"]
    assert open_folder(tmp_path / "out").load("test").matrix.shape == (1, 4)
    with pytest.raises(FileError, match=r"archive must name a file that exists\. Got .*b\.zip"):
        get_data("Wiki10-31K", tmp_path / "b", archive=tmp_path / "b.zip")
    with pytest.raises(InputError, match=r"from either url or archive\. Got both, http://x/ and .*a\.zip\. Omit one"):
        get_data("Wiki10-31K", tmp_path / "b", archive=tmp_path / "a.zip", url="http://x/")


def test_what_was_read_is_told(tmp_path):
    (tmp_path / "a.zip").write_bytes(make_archive())
    told = []
    get_data(
        "Wiki10-31K",
        tmp_path / "out",
        archive=tmp_path / "a.zip",
        on_part=lambda part, contents: told.append((part, contents.matrix.shape)),
    )
    assert told == [("train", (2, 4)), ("test", (1, 4))]


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


UNREADABLE = {
    "nothing": ({"thesis.tex": b"words"}, r"that tailwise can read\. Got .*b\.zip, which has neither Y\.tst\.npz nor"),
    "text": ({"D/test.txt": b"1 3 4\nx\n"}, r"a readable data set\. Got .*b\.zip, but D/test\.txt\b.*line"),
}


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(("members", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_archive_without_a_data_set_replaces_none(tmp_path, members, message, is_there):
    archive = zipped(tmp_path / "b.zip", members)
    if is_there:
        (tmp_path / "a.zip").write_bytes(make_archive())
        get_data("Wiki10-31K", tmp_path / "out", archive=tmp_path / "a.zip")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FileError, match=message):
        get_data("Wiki10-31K", tmp_path / "out", archive=archive, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_data_folder_in_an_archive(tmp_path):
    archive = zipped(tmp_path / "a.zip", {"test.txt": b"1 3 4\n3 2:1\n", LOCK: b"{}"})
    folder = get_data("Wiki10-31K", tmp_path / "out", archive=archive)
    assert verify_folder(folder, read_lock(folder)) == 1


@pytest.mark.skipif(os.name == "nt", reason="links need a right that users of Windows seldom have")
@pytest.mark.parametrize("is_there", [False, True])
def test_a_link_is_followed(tmp_path, is_there):
    (tmp_path / "a.zip").write_bytes(make_archive())
    (tmp_path / "far").mkdir()
    if is_there:
        get_data("Wiki10-31K", tmp_path / "far" / "real", archive=tmp_path / "a.zip")
    (tmp_path / "out").symlink_to(tmp_path / "far" / "real")
    folder = get_data("Wiki10-31K", tmp_path / "out", archive=tmp_path / "a.zip", overwrite=True)
    assert folder == tmp_path / "out"
    assert folder.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "far", "out"]
    assert os.listdir(tmp_path / "far") == ["real"]
    assert read_lock(folder)["name"] == "Wiki10-31K"


def test_the_folder_that_one_is_in(server, url, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    with pytest.raises(FileError, match=r"Got \.\., which holds other files"):
        get_data("Wiki10-31K", "..", url=url)
    assert not server.requests
    get_data("Wiki10-31K", ".", url=url)
    get_data("Wiki10-31K", ".", url=url, overwrite=True)
    assert (tmp_path / "in").samefile(os.curdir)
    assert verify_folder(".", read_lock(".")) == 2


def test_a_file_that_appears_meanwhile_stays(url, tmp_path):
    def write_thesis(part, contents):
        (tmp_path / "out" / "thesis.tex").touch()

    get_data("Wiki10-31K", tmp_path / "out", url=url, on_part=write_thesis)
    get_data("Wiki10-31K", tmp_path / "out", url=url, overwrite=True)
    assert os.listdir(tmp_path) == ["out"]
    assert sorted(os.listdir(tmp_path / "out")) == ["Eurlex", LOCK, "thesis.tex"]


def test_an_evil_archive_leaves_nothing(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../evil.txt", b"evil")
    (tmp_path / "in").mkdir()
    with pytest.raises(FileError, match=r"Got the member '\.\./evil\.txt'"):
        get_data("Wiki10-31K", tmp_path / "in" / "out", archive=tmp_path / "a.zip")
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "in"]
    assert not os.listdir(tmp_path / "in")


def test_folders_that_are_not_replaced(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty", DATA, overwrite=False)
    for path, message in (
        (tmp_path / "full", rf"hold a data set .* with {LOCK}\. Got .*full, which holds other files\. Choose"),
        (tmp_path / "file", r"must be a folder\. Got .*file, which is a file"),
        (
            tmp_path / "none" / "out",
            r"must lie in a folder that exists\. Got .*out, but .*none is not a folder\. Create it first",
        ),
    ):
        for overwrite in (False, True):
            with pytest.raises(FileError, match=message):
                check_folder(path, DATA, overwrite=overwrite)
    (tmp_path / "full" / LOCK).touch()
    with pytest.raises(
        FileError, match=r"not exist\. Got .* which can be used\. Use overwrite=True \(--overwrite\) to replace it"
    ):
        check_folder(tmp_path / "full", DATA, overwrite=False)
    check_folder(tmp_path / "full", DATA, overwrite=True)


def test_files_that_changed(url, tmp_path):
    folder = get_data("Wiki10-31K", tmp_path / "out", url=url)
    lock = read_lock(folder)
    (folder / "Eurlex" / "eurlex_test.txt").write_text("1 3 4\n2 2:1\n")
    with pytest.raises(
        FileError,
        match=r"eurlex_test\.txt must have the sha256 .* recorded when it was unpacked\. .*: get the data again\.",
    ):
        verify_folder(folder, lock)
    (folder / "Eurlex" / "eurlex_test.txt").unlink()
    with pytest.raises(FileError, match=r"must hold the file Eurlex/eurlex_test\.txt, which its lock file lists"):
        verify_folder(folder, lock)
    numbers = '{"name": "a", "files": {"train.txt": 5}}', '{"name": "a", "files": {}, "sha256": 5}'
    for content in ("{", "[]", "{}", '{"files": 3}', '{"files": {}}', *numbers):
        (folder / LOCK).write_text(content)
        with pytest.raises(FileError, match=r"must be a lock file that tailwise wrote\. It is damaged\. Delete it"):
            read_lock(folder)


def test_an_archive_that_may_not_be_read(tmp_path, monkeypatch):
    (tmp_path / "a.zip").write_bytes(make_archive())

    def refuse(path, mode):
        if str(path).endswith("a.zip"):
            raise PermissionError(13, "Permission denied")
        return open(path, mode)

    monkeypatch.setattr("tailwise.datasets.formats.disk.open", refuse, raising=False)
    with pytest.raises(FileError, match=r"a\.zip must be a readable file\. Reading it failed: Permission denied"):
        get_data("Wiki10-31K", tmp_path / "out", archive=tmp_path / "a.zip")


# Folders


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    return {
        part: ((rng.random((n, 6)) < 0.3).astype(int), np.round(rng.random((n, 4)), 3).astype(np.float32))
        for part, n in (("train", 5), ("test", 3))
    }


def write_npz(folder, parts):
    for part, short in (("train", "trn"), ("test", "tst")):
        save(folder / f"Y.{short}.npz", parts[part][0])
        save(folder / f"X.{short}.npz", parts[part][1])
    (folder / "labels.txt").write_text("\n".join("abcdef"))


def write_whole(folder, parts, name="{}.txt"):
    for part in parts:
        save(folder / name.format(part), parts[part][0], features=parts[part][1])


def write_split(folder, parts):
    for part, short in (("train", "trn"), ("test", "tst")):
        save(folder / f"{short}_X_Y.txt", parts[part][0], format="split")
        save(folder / f"{short}_X_Xf.txt", parts[part][1], format="split")
    (folder / "filter_labels_test.txt").write_text("0 1\n")


LAYOUTS = {
    "npz": write_npz,
    "whole": write_whole,
    "named": lambda folder, parts: write_whole(folder, parts, "wiki10_{}.txt"),
    "packed": lambda folder, parts: write_whole(folder, parts, "{}.txt.gz"),
    "split": write_split,
}


@pytest.mark.parametrize("inner", ["", "Eurlex"])
@pytest.mark.parametrize("write", LAYOUTS.values(), ids=LAYOUTS)
def test_a_folder_that_is_there_already(tmp_path, parts, write, inner):
    (tmp_path / inner).mkdir(exist_ok=True)
    write(tmp_path / inner, parts)
    data = open_folder(tmp_path)
    for part, (labels, features) in parts.items():
        found = data.load(part)
        np.testing.assert_array_equal(found.matrix.toarray(), labels)
        np.testing.assert_array_equal(found.features.toarray(), features)
    assert (data.load("test").label_names is not None) == (write is write_npz)
    assert (data.filter is not None) == (write is write_split)


def test_half_a_folder(tmp_path, parts):
    save(tmp_path / "Y.tst.npz", parts["test"][0])
    data = open_folder(tmp_path)
    assert data.load("test").features is None
    with pytest.raises(InputError, match=r"part must be one of test, which .* has\. Got 'train'\."):
        data.load("train")
    save(tmp_path / "X.tst.npz", parts["train"][1])
    with pytest.raises(FileError, match=r"features and labels for the same test instances\. Got 5 and 3\."):
        open_folder(tmp_path).load("test")


def test_names_of_other_labels_are_not_used(tmp_path, parts):
    write_npz(tmp_path, parts)
    (tmp_path / "labels.txt").write_text("a\na\nb\n")  # neither as many as the labels, nor different
    assert open_folder(tmp_path).load("test").label_names is None
    (tmp_path / "labels.txt").write_text("a\na\nb\nc\nd\ne\n")
    with pytest.raises(FileError, match=r"labels\.txt: label names must be unique\. Got 'a' twice"):
        open_folder(tmp_path).load("test")


def test_features_without_labels(tmp_path, parts):
    save(tmp_path / "Y.trn.npz", parts["train"][0])
    save(tmp_path / "X.tst.npz", parts["test"][1])
    data = open_folder(tmp_path)
    np.testing.assert_array_equal(data.load_features("test").toarray(), parts["test"][1])
    with pytest.raises(InputError, match=r"part must be one of test, which .* has\. Got 'train'\."):
        data.load_features("train")


def test_labels_are_no_features(tmp_path):
    (tmp_path / "train.txt").write_text("0:1 2:1\n1:1\n")
    assert open_folder(tmp_path).load("train").features is None


def test_no_folder(tmp_path):
    (tmp_path / "file").touch()
    for path, message in (
        (tmp_path / "none", "which does not exist"),
        (tmp_path / "file", "which is a file"),
        (tmp_path, "which has neither Y.tst.npz nor test.txt nor tst_X_Y.txt"),
    ):
        with pytest.raises(FileError, match=message):
            open_folder(path)


# Drawn data


@pytest.mark.parametrize("data", CATALOGUE, ids=lambda data: data.name)
def test_drawn_data_have_the_shape(data):
    scale = 400 / data.n_test
    drawn = make_like(data.name, scale=scale)
    n_train, n_test, d, m = (
        round(size * scale) for size in (data.n_train, data.n_test, data.n_features, data.n_labels)
    )
    assert drawn.train_labels.shape == (n_train, m)
    assert drawn.test_labels.shape == drawn.probabilities.shape == (n_test, m)
    assert drawn.train_features.shape == (n_train, max(d, 8))
    assert drawn.test_features.shape == (n_test, max(d, 8))
    both = sp.vstack([drawn.train_labels, drawn.test_labels])
    per_point = min(data.labels_per_point, 0.9 * m)
    assert both.sum() / (n_train + n_test) == pytest.approx(per_point, rel=0.05)
    assert both.sum() / m == pytest.approx((n_train + n_test) * per_point / m, rel=0.05)
    assert drawn.probabilities.sum() / n_test == pytest.approx(per_point, rel=0.1)


def test_drawn_features_speak_for_labels():
    drawn = make_like("Eurlex-4K", scale=0.1)
    np.testing.assert_allclose((drawn.train_features**2).sum(axis=1), 1, rtol=1e-5)
    # The nearest training instance shares more labels than another one does.
    nearest = np.asarray((drawn.test_features @ drawn.train_features.T).argmax(axis=1)).ravel()
    shared = (drawn.test_labels.multiply(drawn.train_labels[nearest])).sum()
    other = (drawn.test_labels.multiply(drawn.train_labels[np.roll(nearest, 1)])).sum()
    assert shared > 2 * other
    assert drawn.priors.counts.sum() == drawn.train_labels.sum()


def test_the_seed_is_all_that_matters():
    first, same, other = (make_like("Wiki10-31K", scale=0.01, seed=seed) for seed in (1, 1, 2))
    for name in ("train_features", "test_labels", "probabilities"):
        assert (getattr(first, name) != getattr(same, name)).nnz == 0
        assert (getattr(first, name) != getattr(other, name)).nnz > 0


@pytest.mark.parametrize("scale", [0, -1, 1.5, float("nan")])
def test_scales_that_make_no_sense(scale):
    with pytest.raises(InputError, match=r"scale must be above 0 and at most 1\. Got "):
        make_like("Eurlex-4K", scale=scale)


def test_drawn_data_in_a_folder(tmp_path):
    folder = write_synthetic("Eurlex-4K", tmp_path / "out", scale=0.02, seed=3)
    data = open_folder(folder)
    expected = make_like("Eurlex-4K", scale=0.02, seed=3)
    np.testing.assert_array_equal(data.load("test").matrix.toarray(), expected.test_labels.toarray())
    lock = json.loads((folder / LOCK).read_text())
    assert (lock["source"], lock["scale"], lock["seed"]) == ("synthetic", 0.02, 3)
    assert verify_folder(folder, lock) == 5
    with pytest.raises(FileError, match="must not exist"):
        write_synthetic("Eurlex-4K", tmp_path / "out")


def test_a_folder_where_nothing_may_be_written(tmp_path, monkeypatch):
    # The superuser may write everywhere, so the refusal is played.
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    with pytest.raises(MachineError, match=r"in a writable folder\. Got .*: permission denied\. Choose another folder"):
        check_folder(tmp_path / "new", DATA, overwrite=False)
