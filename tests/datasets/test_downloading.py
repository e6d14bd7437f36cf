"""Downloads go on where they stopped, take a proxy, and leave a whole file or none."""

import http.client
import io
import os
import re
import ssl

import numpy as np
import pytest

from tailwise.datasets.catalogue import downloading
from tailwise.datasets.catalogue.downloading import download
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


def leave_a_part(server, target):
    server.cut_after = [100_000]
    with pytest.raises(FileError, match="Try again"):
        download(server.url + "/a.zip", target, attempts=1)


def answer_with(server, status, headers):
    """Have the server answer all that asks for a part so, and with all of its bytes."""
    usual = server.answer

    def answer(request):
        if request.headers.get("Range") is None:
            usual(request)
            return
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(server.files[request.path][100_000:])

    server.answer = answer


UNFIT = {
    "another size": {"Content-Range": "bytes 100000-199999/200000"},
    "no range": {},
    "another place": {"Content-Range": "bytes 0-299999/300000"},
    "another tag": {"Content-Range": "bytes 100000-299999/300000", "ETag": '"second"'},
    "no numbers": {"Content-Range": "bytes ²-³/²"},
}


@pytest.mark.parametrize("headers", UNFIT.values(), ids=UNFIT)
def test_a_part_that_does_not_fit_begins_anew(server, target, headers):
    leave_a_part(server, target)
    answer_with(server, 206, headers)
    server.files["/a.zip"] = CONTENT[::-1]
    download(server.url + "/a.zip", target, attempts=2, pause=0.0)
    assert target.read_bytes() == CONTENT[::-1]
    assert os.listdir(target.parent) == ["a.zip"]


def test_a_part_of_a_file_whose_size_is_not_said_again(server, target):
    leave_a_part(server, target)
    answer_with(server, 206, {"Content-Range": "bytes 100000-299999/*"})
    download(server.url + "/a.zip", target, attempts=1)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("status", "message"), [(206, "another part than was asked for"), (416, "the server answered 416 Requested Range")]
)
def test_part_of_a_file_of_which_all_was_asked_for(server, target, status, message):
    def answer(request):
        request.send_response(status)
        request.end_headers()

    server.answer = answer
    with pytest.raises(FileError, match=message):
        download(server.url + "/a.zip", target, attempts=2, pause=0.0)
    assert not os.listdir(target.parent)


@pytest.mark.parametrize("length", ["abc", "300000, 300000", "²", "9" * 5000])
def test_a_size_that_is_no_number(server, target, length):
    def answer(request):
        request.send_response(200)
        request.send_header("Content-Length", length)
        request.end_headers()
        request.wfile.write(CONTENT)

    server.answer = answer
    download(server.url + "/a.zip", target, attempts=1)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("error", [ssl.SSLError(1, "bad record mac"), OSError(113, "No route to host")])
def test_a_failing_network_is_not_the_disk(server, target, monkeypatch, error):
    usual, calls = http.client.HTTPResponse.read1, []

    def fail_second(answer, size):
        calls.append(size)
        if len(calls) == 2:
            raise error
        return usual(answer, min(size, 1000))

    monkeypatch.setattr(http.client.HTTPResponse, "read1", fail_second)
    download(server.url + "/a.zip", target, attempts=2, pause=0.0)
    assert target.read_bytes() == CONTENT
    assert server.requests == [("/a.zip", None), ("/a.zip", "bytes=1000-")]


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
    for url in ("file:///etc/hosts", "http://[::1", "http://", "http:///a.zip", "http://127.0.0.1:port/", "a.zip"):
        with pytest.raises(InputError, match=rf"url must be an address .* https://\. Got {re.escape(url)}\. Check"):
            download(url, target)


def test_letters_and_blanks_in_an_address(server, target):
    server.files["/%C3%A9%20%C3%A8.zip?%C3%A9=a%20b&c=%20"] = CONTENT
    download(server.url + "/é è.zip?é=a b&c=%20", target)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("place", ["http://[bad", f"http://{'a' * 64}.invalid/", "http://127.0.0.1:port/"])
def test_addresses_that_are_not_valid(server, target, place):
    def answer(request):
        request.send_response(302)
        request.send_header("Location", place)
        request.end_headers()

    server.answer = answer
    with pytest.raises(
        FileError, match=r"could not be downloaded: it is, or leads to, an address that is not valid \("
    ):
        download(server.url + "/a.zip", target)


def test_a_reason_of_several_lines(server, target):
    server.answer = lambda request: request.wfile.write(b"no\nHTTP\r\n\r\n")
    with pytest.raises(FileError, match=r"the connection failed \(no ?\)\. Try again"):
        download(server.url + "/a.zip", target, attempts=1)


def test_a_host_that_cannot_be(target, server):
    with pytest.raises(FileError, match=r"an address that is not valid \("):
        download(f"http://{'a' * 64}.invalid/", target)


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
    assert not os.listdir(target.parent)


def test_behind_a_proxy(server, target, monkeypatch):
    # A proxy is asked for the whole address, of a server that does not exist.
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.files["http://data.invalid/a.zip"] = CONTENT
    download("http://data.invalid/a.zip", target)
    assert target.read_bytes() == CONTENT
    assert server.requests == [("http://data.invalid/a.zip", None)]
