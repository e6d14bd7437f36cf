"""A short run of the programs that damage files and kill commands; `make fuzz` runs them for longer."""

import math
import os

import pytest
from fuzz.files import fuzz_files
from fuzz.kills import SIGNALS, kill_commands
from fuzz.kinds import KINDS

ROUNDS = 100
N_KILLS = 3


def test_damaged_files_of_every_kind_are_refused_or_say_what_they_say():
    assert fuzz_files(math.inf, seed=0, rounds=ROUNDS) == ROUNDS * len(KINDS)


@pytest.mark.skipif(os.name == "nt" or len(SIGNALS) < 3, reason="needs the signals SIGKILL, SIGTERM and SIGINT")
def test_killed_commands_leave_nothing_damaged():
    hits = kill_commands(N_KILLS, seed=0)
    assert sum(hits.values()) > 0
