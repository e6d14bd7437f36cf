"""Where machine code is kept: read-only, copied, shared, full and unsafe folders."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from kernels.conftest import COMPILED, LOADED, Installation
from numba.core import config
from numba.core.codegen import get_host_cpu_features

from tailwise.kernels import code_folders
from tailwise.kernels.processors import BASELINES

# Below a file: not even root can make this folder.
NOWHERE = "/dev/null/nowhere"

needs_permissions = pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX")


def folders_of(installation):
    return {path.parent.parent.relative_to(installation.folder).as_posix() for path in installation.files()}


def test_code_is_kept_beside_the_sources(warm):
    assert folders_of(warm) == {"tailwise/kernels/__pycache__/compiled"}


def test_the_folder_of_numba_is_used_alone_where_it_is_given(warm):
    elsewhere = warm.folder / "elsewhere"
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == COMPILED
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == LOADED
    assert (elsewhere / "tailwise").is_dir()


def test_code_copied_to_another_path_with_other_times_is_loaded(warm):
    there = warm.folder / "there"
    shutil.copytree(warm.folder / "tailwise", there / "tailwise", copy_function=shutil.copyfile)
    shutil.copyfile(warm.folder / "functions.py", there / "functions.py")
    for path in there.rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert Installation(there).run() == LOADED


def test_warm_code_is_read_by_a_user_who_can_write_nothing(warm, unprivileged):
    prefix = unprivileged()
    for home in (None, NOWHERE):
        assert warm.run(prefix=prefix, HOME=home, TMPDIR=NOWHERE) == LOADED


def test_where_nothing_can_be_written_code_is_compiled_each_time(installation, unprivileged):
    prefix = unprivileged()
    for _ in range(2):
        assert installation.run(prefix=prefix, HOME=NOWHERE, TMPDIR=NOWHERE) == COMPILED
    assert installation.files() == []


def test_a_damaged_file_in_a_read_only_folder_does_not_hide_another(warm, unprivileged):
    warm.files()[0].write_bytes(b"damaged")
    (warm.folder / "open").mkdir()
    prefix = unprivileged()
    (warm.folder / "open").chmod(0o1777)
    environment = {"HOME": NOWHERE, "TMPDIR": warm.folder / "open"}
    assert warm.run(prefix=prefix, **environment) == ["42 63 10.5 2"]
    assert warm.run(prefix=prefix, **environment) == LOADED


@pytest.mark.parametrize(("variable", "place"), [("XDG_CACHE_HOME", "tailwise/compiled"), ("TMPDIR", "tailwise-{uid}")])
def test_another_folder_serves_where_the_package_is_read_only(installation, unprivileged, variable, place):
    (installation.folder / "open").mkdir()
    prefix = unprivileged()
    (installation.folder / "open").chmod(0o1777)
    environment = {"HOME": NOWHERE, "TMPDIR": NOWHERE, variable: installation.folder / "open"}
    assert installation.run(prefix=prefix, **environment) == COMPILED
    assert installation.run(prefix=prefix, **environment) == LOADED
    uid = 65534 if prefix else os.geteuid()
    assert folders_of(installation) == {f"open/{place.format(uid=uid)}"}


@needs_permissions
def test_a_folder_that_others_can_write_is_neither_read_nor_written(warm):
    elsewhere = warm.folder / "elsewhere"
    warm.fill(elsewhere)
    before = [path.stat().st_mtime_ns for path in warm.files()]
    version = warm.files()[0].parent
    for mode in (0o777, 0o775):
        version.chmod(mode)
        assert warm.run(NUMBA_CACHE_DIR=elsewhere) == COMPILED
    assert [path.stat().st_mtime_ns for path in warm.files()] == before
    version.chmod(0o755)
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == LOADED
    warm.files()[0].chmod(0o666)
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == ["42 63 10.5 2"]


@needs_permissions
def test_a_link_is_not_followed(warm):
    elsewhere = warm.folder / "elsewhere"
    warm.fill(elsewhere)
    version = warm.files()[0].parent
    version.rename(warm.folder / "moved")
    version.symlink_to(warm.folder / "moved")
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == COMPILED


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files to another user")
def test_code_of_another_user_is_not_read(warm):
    elsewhere = warm.folder / "elsewhere"
    warm.fill(elsewhere)
    for path in warm.files():
        os.chown(path, 12345, 12345)
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == COMPILED  # and written anew
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == LOADED
    os.chown(warm.files()[0].parent, 12345, 12345)
    assert warm.run(NUMBA_CACHE_DIR=elsewhere) == COMPILED


@needs_permissions
def test_a_package_that_a_group_may_change_keeps_code_in_the_same_hands(warm):
    kernels = warm.folder / "tailwise/kernels"
    kernels.chmod(0o775)
    for path in (*warm.beside_sources.rglob("*"), warm.beside_sources):
        path.chmod(0o775 if path.is_dir() else 0o664)  # as a package installer leaves them
    assert warm.run() == LOADED
    kernels.chmod(0o755)
    assert warm.run(HOME=NOWHERE, TMPDIR=NOWHERE) == COMPILED


@pytest.fixture
def common():
    """Settings that compile for the processor of wheels."""
    machine = platform.system(), platform.machine()
    if machine not in BASELINES:
        pytest.skip("no wheels with compiled code are made for machines of this kind")
    name, features = BASELINES[machine]
    if not set(filter(None, features.split(","))) <= set(get_host_cpu_features().split(",")):
        pytest.skip("this processor is older than the one that wheels are made for")
    return {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}


def test_code_of_a_wheel_is_used_by_machines_that_can_run_it(installation, common):
    assert installation.run(NUMBA_CACHE_DIR=installation.home, **common) == COMPILED
    (installation.home / "tailwise").rename(installation.folder / "tailwise/kernels/compiled")
    assert installation.run() == LOADED
    assert installation.run(NUMBA_CACHE_DIR=installation.home) == LOADED
    assert installation.run(NUMBA_BOUNDSCHECK="1") == COMPILED  # other code, kept elsewhere
    assert folders_of(installation) == {"tailwise/kernels/compiled", "tailwise/kernels/__pycache__/compiled"}
    if common["NUMBA_CPU_FEATURES"]:
        assert installation.run(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == COMPILED


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
import functions
print(*functions.found, functions.hits)
"""


@needs_permissions
def test_a_full_disk_leaves_nothing_behind(installation):
    """A limit on the size of files makes writing fail half-way, as a full disk does."""
    assert installation.run(FULL) == COMPILED
    assert installation.files() == []


@needs_permissions
def test_a_full_file_system(installation):
    disk = installation.folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4k,mode=755", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small file system")
    try:
        subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'zeros'}"], capture_output=True, check=False)
        assert installation.run(NUMBA_CACHE_DIR=disk) == COMPILED
        assert installation.files() == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_read_only_mount(warm):
    """The root of a container that is mounted read-only, warm and cold."""
    command = ["unshare", "--mount", "sh", "-c", 'mount --bind -o ro "$0" "$0" && exec "$@"', str(warm.folder)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this user may not mount a folder read-only")
    assert warm.run(prefix=command) == LOADED
    shutil.rmtree(warm.beside_sources)
    assert warm.run(prefix=command) == COMPILED
    assert warm.files() == []


def test_old_versions_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    for number in range(7):
        code_folders.write_file(f"version-{number}", "a.nbc", b"code")
        os.utime(tmp_path / "tailwise" / f"version-{number}", (number, number))
    assert sorted(path.name for path in tmp_path.glob("*/*")) == [f"version-{number}" for number in (3, 4, 5, 6)]
    assert list(code_folders.read_files("version-3", "a.nbc")) == [b"code"]
    assert list(code_folders.read_files("version-2", "a.nbc")) == []


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"HOME": "/people/me"}, "/people/me/.cache"),
        ("linux", {"HOME": "/people/me", "XDG_CACHE_HOME": "/caches"}, "/caches"),
        ("linux", {"HOME": "relative"}, None),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches"),
        ("win32", {"LOCALAPPDATA": "/Users/me/AppData/Local"}, "/Users/me/AppData/Local"),
        ("win32", {}, None),
    ],
)
@needs_permissions
def test_the_cache_of_the_user_is_where_the_system_wants_it(monkeypatch, platform, environment, folder):
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(code_folders.sys, "platform", platform)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    users = {path.parent.parent for path in code_folders.list_folders() if path.parts[-2:] == ("tailwise", "compiled")}
    assert users == ({Path(folder)} if folder else set())
