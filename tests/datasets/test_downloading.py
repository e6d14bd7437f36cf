"""Downloads: whole or not at all, checked before they are used, with errors that say what to do."""

import _thread
import io
import os
import re
import sys
import zipfile

import pytest

from tailwise.datasets import get_data, open_folder
from tailwise.errors import FileError, InputError, MissingExtraError


def make_archive(note=b""):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("test.txt", b"1 3 4\n3 2:1\n")
        archive.writestr("note.txt", note)
    return packed.getvalue()


CONTENT = make_archive(bytes(300_000))


@pytest.fixture(autouse=True)
def content(server):
    server.files["/a.zip"] = CONTENT


def fetch(url, tmp_path, **options):
    folder = get_data("Wiki10-31K", tmp_path / "out", url=url, **options)
    assert os.listdir(tmp_path) == ["out"]
    assert open_folder(folder).load("test").matrix.shape == (1, 4)


def refuse(url, tmp_path, reason):
    """Nothing is left of a download that failed, and the error says what to do."""
    remedy = "Try again, or download the archive with a browser and pass it as archive (--archive FILE)."
    with pytest.raises(FileError, match=rf"could not be downloaded: (?s:.*){reason}(?s:.*)\. {re.escape(remedy)}$"):
        get_data("Wiki10-31K", tmp_path / "out", url=url)
    assert not os.listdir(tmp_path)


def test_a_whole_file(server, tmp_path, capsys):
    fetch(server.url + "/a.zip", tmp_path)
    assert server.requests == ["/a.zip"]
    assert capsys.readouterr() == ("", "")


def test_a_progress_bar(server, tmp_path, capsys):
    fetch(server.url + "/a.zip", tmp_path, progress=True)
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "100%" in seen.err


def test_a_size_that_is_not_said(server, tmp_path):
    server.says_length = False
    fetch(server.url + "/a.zip", tmp_path)


def test_a_broken_connection_starts_again(server, tmp_path):
    server.cut_after = [100_000]
    fetch(server.url + "/a.zip", tmp_path)
    assert server.requests == ["/a.zip", "/a.zip"]


def test_a_connection_that_breaks_again_and_again(server, tmp_path):
    server.cut_after = [100_000] * 10
    refuse(server.url + "/a.zip", tmp_path, "100000 bytes read")


def test_a_file_that_was_cut_short_is_no_archive(server, tmp_path):
    server.says_length = False
    server.cut_after = [100_000]
    with pytest.raises(FileError, match=r"/a\.zip must be a complete and valid archive"):
        get_data("Wiki10-31K", tmp_path / "out", url=server.url + "/a.zip")
    assert not os.listdir(tmp_path)


def test_a_wrong_checksum_names_the_address(server, tmp_path):
    url = server.url + "/a.zip"
    with pytest.raises(FileError, match=rf"^{re.escape(url)} must have the sha256 0{{64}}"):
        get_data("Wiki10-31K", tmp_path / "out", url=url, sha256="0" * 64)
    assert not os.listdir(tmp_path)


def test_ctrl_c_leaves_nothing(server, tmp_path):
    usual = server.answer

    def answer(request):
        _thread.interrupt_main()
        usual(request)

    server.answer = answer
    with pytest.raises(KeyboardInterrupt):
        get_data("Wiki10-31K", tmp_path / "out", url=server.url + "/a.zip")
    assert not os.listdir(tmp_path)


def test_no_such_file(server, tmp_path):
    refuse(server.url + "/b.zip", tmp_path, "404")


def test_no_answer(server, tmp_path):
    url = server.url
    server.stop()
    server.stop = lambda: None
    refuse(url + "/a.zip", tmp_path, "refused")


def test_a_page_in_place_of_an_archive(server, tmp_path):
    server.files["/a.zip"] = b"\n<!DOCTYPE html><html>May we scan this file for viruses?</html>"
    refuse(server.url + "/a.zip", tmp_path, "the server sent a web page, which may ask for consent")


@pytest.mark.parametrize(
    "url", ["file:///etc/hosts", "http://", "http:///a.zip", "http://[bad", "a.zip", "ftp://x/a.zip"]
)
def test_only_http(tmp_path, url):
    with pytest.raises(InputError, match=rf"url must begin with .* name a host\. Got {re.escape(url)}\. Check"):
        get_data("Wiki10-31K", tmp_path / "out", url=url)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("place", ["http://[bad", f"http://{'a' * 64}.invalid/", "http://127.0.0.1:port/"])
def test_addresses_that_are_not_valid(server, tmp_path, place):
    def answer(request):
        request.send_response(302)
        request.send_header("Location", place)
        request.end_headers()

    server.answer = answer
    refuse(server.url + "/a.zip", tmp_path, "")


def test_letters_and_blanks_in_an_address(server, tmp_path):
    server.files["/%C3%A9%20%C3%A8.zip?%C3%A9=a%20b&c=%20"] = CONTENT
    fetch(server.url + "/é è.zip?é=a b&c=%20", tmp_path)


def test_behind_a_proxy(server, tmp_path, monkeypatch):
    # A proxy is asked for the whole address, of a server that does not exist.
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.files["http://data.invalid/a.zip"] = CONTENT
    fetch("http://data.invalid/a.zip", tmp_path)
    assert server.requests == ["http://data.invalid/a.zip"]


def test_only_downloads_need_the_extra(server, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"Downloads need pooch.*pip install 'tailwise\[data\]'"):
        get_data("Wiki10-31K", tmp_path / "out", url=server.url + "/a.zip")
    assert not os.listdir(tmp_path)
    (tmp_path / "a.zip").write_bytes(CONTENT)
    get_data("Wiki10-31K", tmp_path / "out", archive=tmp_path / "a.zip")
    assert not server.requests
