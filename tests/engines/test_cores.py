"""The number of cores respects affinity and the limits of containers."""

import os

import pytest

from tailwise.inputs import checks
from tailwise.inputs.checks import count_cores


@pytest.fixture(autouse=True)
def eight_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(checks, "CONTROL_GROUPS", tmp_path)


def test_affinity_where_nothing_else_is_known():
    assert count_cores() == 8


def test_all_cores_where_there_is_no_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert count_cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_cores() == 1


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000\n", 8), ("200000 100000\n", 2), ("150000 100000\n", 2), ("1000 100000\n", 1), ("1600000 100000", 8)],
)
def test_limits_of_control_groups(tmp_path, limit, expected):
    (tmp_path / "cpu.max").write_text(limit)
    assert count_cores() == expected


@pytest.mark.parametrize(("quota", "expected"), [("-1\n", 8), ("300000\n", 3), ("250000\n", 3)])
def test_limits_of_old_control_groups(tmp_path, quota, expected):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert count_cores() == expected


def test_files_that_cannot_be_understood_are_ignored(tmp_path):
    (tmp_path / "cpu.max").write_text("what is this")
    assert count_cores() == 8
