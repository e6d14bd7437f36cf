"""Downloads go on where they stopped, take a proxy, and leave a whole file or none."""

import io
import os

import numpy as np
import pytest

from tailwise.datasets import downloading
from tailwise.datasets.downloading import download
from tailwise.errors import FileError, InputError

CONTENT = np.random.default_rng(0).bytes(300_000)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "a.zip"


@pytest.fixture(autouse=True)
def content(server):
    server.files["/a.zip"] = CONTENT


def test_a_whole_file(server, target):
    seen = []
    download(server.url + "/a.zip", target, on_bytes=lambda done, total: seen.append((done, total)))
    assert target.read_bytes() == CONTENT
    assert os.listdir(target.parent) == ["a.zip"]
    assert seen[-1] == (300_000, 300_000)
    assert seen == sorted(seen)


def test_a_broken_connection_is_taken_up(server, target):
    server.cut_after = [100_000, 50_000]
    download(server.url + "/a.zip", target, pause=0.0)
    assert target.read_bytes() == CONTENT
    assert server.requests == [("/a.zip", None), ("/a.zip", "bytes=100000-"), ("/a.zip", "bytes=150000-")]


def test_the_next_call_goes_on(server, target):
    server.cut_after = [100_000]
    with pytest.raises(
        FileError, match=r"connection failed \(it ended after 100,000 of 300,000 bytes\)\. Try again, whi"
    ):
        download(server.url + "/a.zip", target, attempts=1)
    assert not target.exists()
    download(server.url + "/a.zip", target)
    assert server.requests[-1] == ("/a.zip", "bytes=100000-")
    assert target.read_bytes() == CONTENT
    assert os.listdir(target.parent) == ["a.zip"]


def test_ctrl_c_keeps_the_part(server, target):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(server.url + "/a.zip", target, on_bytes=stop)
    assert not target.exists()
    download(server.url + "/a.zip", target)
    assert server.requests[-1][1] is not None
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("change", ["tag", "no ranges", "other address"])
def test_a_part_of_something_else_is_not_used(server, target, change):
    server.cut_after = [100_000]
    with pytest.raises(FileError, match="Try again"):
        download(server.url + "/a.zip", target, attempts=1)
    server.files["/a.zip"] = server.files["/b.zip"] = CONTENT[::-1]
    server.tag = '"second"' if change == "tag" else server.tag
    server.takes_ranges = change != "no ranges"
    download(server.url + ("/b.zip" if change == "other address" else "/a.zip"), target)
    assert target.read_bytes() == CONTENT[::-1]


def test_a_part_of_another_size_begins_anew(server, target):
    server.tag = ""
    server.cut_after = [100_000]
    with pytest.raises(FileError, match="Try again"):
        download(server.url + "/a.zip", target, attempts=1)
    server.files["/a.zip"] = CONTENT[:50_000]
    download(server.url + "/a.zip", target, pause=0.0)
    assert target.read_bytes() == CONTENT[:50_000]


def test_a_part_that_is_whole_already(server, target):
    server.says_length = True
    part = target.with_name(".a.zip.part")
    server.cut_after = [299_999]
    with pytest.raises(FileError, match="Try again"):
        download(server.url + "/a.zip", target, attempts=1)
    part.write_bytes(CONTENT)  # all bytes came, and only the move did not
    download(server.url + "/a.zip", target)
    assert target.read_bytes() == CONTENT


def test_a_size_that_is_not_said(server, target):
    server.says_length = False
    seen = []
    download(server.url + "/a.zip", target, on_bytes=lambda done, total: seen.append(total))
    assert target.read_bytes() == CONTENT
    assert set(seen) == {None}


def test_no_such_file(server, target):
    with pytest.raises(
        FileError, match=r"/b\.zip could not be downloaded: the server answered 404 Not Found\. Try again"
    ):
        download(server.url + "/b.zip", target)
    assert len(server.requests) == 1
    assert not os.listdir(target.parent)


def test_nobody_answers(server, target):
    url = server.url
    server.stop()
    server.stop = lambda: None
    with pytest.raises(FileError, match=r"could not be downloaded: the connection failed \(.*refused"):
        download(url + "/a.zip", target, attempts=2, pause=0.0)


def test_a_page_in_place_of_an_archive(server, target):
    server.content_type = "text/html; charset=utf-8"
    with pytest.raises(FileError, match=r"must be an archive\. The server sent a web page.* give it with --archive"):
        download(server.url + "/a.zip", target)
    assert not os.listdir(target.parent)


def test_only_http(target):
    with pytest.raises(InputError, match=r"url must begin with http:// or https://\. Got file:///etc/hosts\."):
        download("file:///etc/hosts", target)


def test_no_room(server, target, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(downloading.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(FileError, match=r"room for 300,000 bytes\. .* has 1,000 free\. Free the space"):
        download(server.url + "/a.zip", target)
    assert not os.listdir(target.parent)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk(server, target, monkeypatch):
    full = io.FileIO("/dev/full", "wb")
    monkeypatch.setattr(downloading, "open", lambda path, mode: full, raising=False)
    with pytest.raises(FileError, match=r"could not be written: No space left on device\. Free the space"):
        download(server.url + "/a.zip", target)
    assert not target.exists()


def test_behind_a_proxy(server, target, monkeypatch):
    # A proxy is asked for the whole address, of a server that does not exist.
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.files["http://data.invalid/a.zip"] = CONTENT
    download("http://data.invalid/a.zip", target)
    assert target.read_bytes() == CONTENT
    assert server.requests == [("http://data.invalid/a.zip", None)]
