"""``tailwise data``: the catalogue, folders, downloads from loopback; and what goes wrong with them."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from tailwise.cli.main import main
from tailwise.datasets import CATALOGUE, save


@pytest.fixture
def archive(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("Eurlex/eurlex_train.txt", "2 3 4\n1 0:1\n2,3 1:1\n")
        file.writestr("Eurlex/eurlex_test.txt", "1 3 4\n3 2:1\n")
        file.writestr("Eurlex/noise", np.random.default_rng(0).bytes(200_000))
    return packed.getvalue()


@pytest.fixture
def slow_server(archive):
    """Gives the address of an archive, of which the first half comes at once and the rest when `go` is set."""
    go, asked = threading.Event(), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(archive)))
            self.end_headers()
            half = len(archive) // 2
            try:
                self.wfile.write(archive[:half])
                self.wfile.flush()
                go.wait(60)
                self.wfile.write(archive[half:])
            except OSError:  # whoever asked has gone
                pass

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/a.zip", go, asked
    go.set()
    server.shutdown()
    server.server_close()


def call(capsys, *words):
    code = main([*map(str, words)])
    return code, *capsys.readouterr()


def test_list(capsys):
    code, out, err = call(capsys, "data", "list")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:]] == [each.name for each in CATALOGUE]
    assert re.search(r"Eurlex-4K +15,539 +3,809 +5,000 +3,993 +5\.31 +25\.73 +0\.55 +1\.5\n", out)
    code, out, err = call(capsys, "data", "list", "--format", "json")
    assert json.loads(out)[0]["n_labels"] == 3993


def test_info_of_a_data_set(capsys):
    code, out, _ = call(capsys, "data", "info", "amazon-670k")
    assert code == 0
    assert "490,449 training and 153,025 test instances, 135,909 features" in out
    assert "a = 0.6, b = 2.6" in out
    assert re.search(r"licence: .*\n  from: http", out)


def test_info_of_a_folder(capsys, tmp_path):
    save(tmp_path / "Y.tst.npz", np.eye(4, 5))
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\ne\n")
    code, out, _ = call(capsys, "data", "info", tmp_path)
    assert code == 0
    assert out == f"{tmp_path}\n  test: 4 instances, no features, 5 labels, 1.00 per point\n  label names: labels.txt\n"
    (tmp_path / "labels.txt").write_text("a\na\n")
    code, out, _ = call(capsys, "data", "info", tmp_path)
    assert code == 0
    assert out.endswith("  label names: labels.txt, not used: needs one line per label\n")


def test_get_from_an_archive(capsys, tmp_path, archive, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.zip").write_bytes(archive)
    code, out, err = call(capsys, "data", "get", "wiki10-31k", "--archive", "a.zip")
    assert (code, err) == (0, "")
    assert out == (
        "Wiki10-31K: Wiki10-31K (a.zip)\n"
        "  train: 2 instances, 3 features, 4 labels, 1.50 per point\n"
        "  test: 1 instances, 3 features, 4 labels, 1.00 per point\n"
        "  3 files as recorded; checksum recorded now, none is published\n"
    )
    code, out, err = call(capsys, "data", "get", "wiki10-31k", "--archive", "a.zip")
    assert (code, out) == (2, "")
    assert re.search(r"must not exist\. Got Wiki10-31K, which exists\. .*Use --overwrite to replace it\.\n", err)
    assert call(capsys, "data", "get", "wiki10-31k", "--archive", "a.zip", "--overwrite", "--quiet") == (0, "", "")


def test_an_archive_without_data_replaces_none(capsys, tmp_path, archive, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.zip").write_bytes(archive)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as file:
        file.writestr("test.txt", "1 3 4\nno labels\n")
    assert call(capsys, "data", "get", "wiki10-31k", "--archive", "a.zip", "--quiet") == (0, "", "")
    code, out, err = call(capsys, "data", "get", "wiki10-31k", "--archive", "b.zip", "--overwrite")
    assert (code, out) == (2, "")
    assert re.search(r"must hold a readable data set\. Got b\.zip, but test\.txt", err)
    code, out, _ = call(capsys, "data", "info", "Wiki10-31K")
    assert (code, out.splitlines()[0]) == (0, "Wiki10-31K: Wiki10-31K (a.zip)")


def test_get_drawn_data(capsys, tmp_path):
    out_folder = tmp_path / "small"
    words = "data", "get", "Eurlex-4K", "--synthetic", "--scale", 0.02, "--seed", 3, "--out", out_folder
    code, out, err = call(capsys, *words)
    assert (code, err) == (0, "")
    assert re.search(r"train: 311 instances, 100 features, 80 labels, \d\.\d\d per point\n", out)
    assert "5 files as recorded; checksum of synthetic data" in out


BAD = {
    "name": ("data get eurlex4k", r"Got 'eurlex4k'\. Did you mean Eurlex-4K\?"),
    "info": ("data info nothing", r"name must be a data set of the catalogue\. Got 'nothing'"),
    "folder": ("data info empty", r"which has neither Y\.tst\.npz nor test\.txt"),
    "archive": ("data get Eurlex-4K --archive none.zip", r"archive must name a file that exists\. Got none\.zip"),
    "text": ("data get Wiki10-31K --archive text.zip", r"text\.zip must be a complete and valid archive"),
    "outside": (
        "data get Wiki10-31K --archive evil.zip",
        r"only files inside its own folder\. Got the member '\.\./evil'",
    ),
    "checksum": (
        f"data get Eurlex-4K --archive a.zip --sha256 {'0' * 64}",
        r"must have the sha256 0{64}, as given\. Got \w{64}",
    ),
    "no checksum": (
        "data get Eurlex-4K --archive a.zip --sha256 zz",
        r"sha256 must be 64 hexadecimal digits\. Got 'zz'",
    ),
    "published": ("data get Eurlex-4K --archive a.zip", r"must have the md5 \w{32}, as published for Eurlex-4K\. Got "),
    "exists": ("data get Wiki10-31K --archive a.zip --out full", r"Got full, which holds other files"),
    "thesis": ("data get Wiki10-31K --archive a.zip --out full --overwrite", r"Got full, which holds other files"),
    "drawn thesis": (
        "data get Eurlex-4K --synthetic --scale 0.02 --out full --overwrite",
        r"Got full, which holds other files\. Choose another folder",
    ),
    "no data": (
        "data get Wiki10-31K --archive other.zip",
        r"Got other\.zip, which has neither Y\.tst\.npz nor test\.txt",
    ),
    "here": ("data get Wiki10-31K --archive a.zip --out .", r"Got \., which holds other files"),
    "lock": ("data info locked", r"tailwise-lock\.json must be a lock file that tailwise wrote\. It is damaged"),
    "drawn archive": (
        "data get Eurlex-4K --synthetic --archive a.zip --sha256 00",
        r"--url, --archive, --sha256 cannot be combined with --synthetic\. Got --archive, --sha256\. Omit",
    ),
    "seed": (
        "data get Eurlex-4K --archive a.zip --seed 0",
        r"--scale, --seed can only be used with --synthetic\. Got --seed\.",
    ),
    "two places": (
        "data get Eurlex-4K --archive a.zip --url http://x/",
        r"either url or archive\. Got both, http://x/ and",
    ),
    "no folder above": ("data get Eurlex-4K --archive a.zip --out none/out", r"none is not a folder\. Create it first"),
    "scale": ("data get Eurlex-4K --synthetic --scale 2", r"scale must be above 0 and at most 1\. Got 2\.0"),
    "scheme": (
        "data get Eurlex-4K --url ftp://127.0.0.1/a.zip",
        r"begin with http:// or https:// and name a host\. Got ftp",
    ),
    "no address": ("data get Eurlex-4K --url=", r"begin with http:// or https:// and name a host\. Got \. Check"),
    "address": (
        "data get Eurlex-4K --url http://[::1",
        r"begin with http:// or https:// and name a host\. Got http://\[::1\. Check",
    ),
    "host": (
        f"data get Eurlex-4K --url http://{'a' * 64}.invalid/",
        r"could not be downloaded: .*label empty or too",
    ),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_input(capsys, tmp_path, archive, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a.zip").write_bytes(archive)
    (tmp_path / "text.zip").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as file:
        file.writestr("../evil", "evil")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("thesis.tex", "words")
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked" / "tailwise-lock.json").write_text('{"name": "a", "files": {"train.txt": 5}}')
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    before = sorted(tmp_path.rglob("*"))
    code, out, err = call(capsys, *words.split())
    assert (code, out) == (2, "")
    assert re.fullmatch(r"tailwise: error: [^\n]*\n", err)
    assert re.search(message, err)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.name != "posix", reason="sends Ctrl-C to another process, as POSIX can")
def test_ctrl_c_and_again(tmp_path, slow_server):
    url, go, asked = slow_server
    command = [sys.executable, "-m", "tailwise.cli.program", "data", "get", "Wiki10-31K", "--url", url, "--out", "out"]
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not asked:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "tailwise: interrupted\n"
    assert not os.listdir(tmp_path)
    go.set()
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(tmp_path) == ["out"]
