"""A cluster gives the same bytes as one thread, from a store as from memory, also when workers are lost."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from engines.clusters import distributed, open_cluster

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.engines import Dask, dask_cluster, dask_messages, dask_workers
from tailwise.errors import ClusterError, InputError
from tailwise.selection.bca import run_pass, start
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Request
from tailwise.selection.resolve import resolve

CASES = [
    ("macro-f1", "semi"),
    ("macro-f1", "exact"),
    ("coverage", "auto"),
    ("0.6*precision + 0.3*macro-f1 + 0.1*coverage", "exact"),
    ("macro-gmean", "semi"),
]


@pytest.fixture(scope="module")
def probabilities():
    return zipf_candidates(2000, 400, 90, seed=2).astype(np.float32)


@pytest.fixture(scope="module")
def store(probabilities, tmp_path_factory):
    path = tmp_path_factory.mktemp("dask") / "a.store"
    tw.save(path, probabilities)
    return path


@pytest.fixture(scope="module", params=[2])
def client(request):
    with open_cluster(request.param) as cluster, distributed.Client(cluster) as client:
        yield client


def select(source, case, **options):
    """Some passes to the end, and many over coverage, which would go on for long."""
    utility, expectation = case
    options = {"max_passes": 8, "tolerance": 0.0, **options}
    return tw.select(source, utility, 3, expectation=expectation, method="ascent", **options)


@pytest.fixture(scope="module")
def wanted(probabilities):
    return {case: select(probabilities, case, workers=1) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_bytes_from_memory_store_and_threads(probabilities, store, wanted, case):
    for found in (select(store, case), select(store, case, workers=8), select(probabilities, case, workers=3)):
        assert found.labels.tobytes() == wanted[case].labels.tobytes()
        assert found.history == wanted[case].history


# Every case with two workers, and other numbers of them with the cases whose state is largest.
@pytest.mark.parametrize(
    ("client", "case"),
    [*((2, case) for case in CASES), (1, CASES[1]), (4, CASES[1]), (4, CASES[3])],
    indirect=["client"],
    ids=str,
)
def test_same_bytes_on_a_cluster(client, store, wanted, case):
    found = select(store, case, engine=Dask(client))
    assert found.labels.tobytes() == wanted[case].labels.tobytes()
    assert found.history == wanted[case].history
    assert any(message.startswith("Pass 1: ") for message in found.messages)


def test_bytes_fall_from_pass_to_pass(client, store, wanted):
    engine = Dask(client)
    select(store, CASES[0], engine=engine)
    sent = [sum(each) for each in engine._passes]
    assert max(sent[3:]) < 0.3 * sent[0]


def test_candidates_that_are_in_memory_only(client, probabilities, wanted, tmp_path):
    found = select(probabilities, CASES[1], engine=Dask(client, folder=tmp_path))
    assert found.labels.tobytes() == wanted[CASES[1]].labels.tobytes()
    assert list(tmp_path.iterdir()) == []


def test_table_of_dask_and_directory_of_parts(client, probabilities, wanted, tmp_path):
    dataframe = pytest.importorskip("dask.dataframe")
    parts = tmp_path / "parts"
    parts.mkdir()
    for number, rows in enumerate((slice(0, 700), slice(700, None))):
        tw.save(parts / f"{number}.parquet", probabilities[rows], instance_names=range(2000)[rows])
    entries = probabilities.tocoo()
    columns = {"instance": entries.row, "label": entries.col, "probability": entries.data}
    table = dataframe.from_pandas(pd.DataFrame(columns), npartitions=3)
    for source in (table, parts):
        found = select(source, CASES[0], engine=Dask(client))
        assert found.labels.tobytes() == wanted[CASES[0]].labels.tobytes()


def test_names_of_tasks(client, store):
    engine, names = Dask(client), []
    submit = client.submit
    client.submit = lambda *arguments, **more: names.append(more["key"]) or submit(*arguments, **more)
    select(store, CASES[0], engine=engine, max_passes=1)
    del client.submit
    assert re.fullmatch(r"best-in-rows-[0-9a-f]+-part0-try0", names[0])
    proposals = [name for name in names if name.startswith("propose")]
    assert re.fullmatch(r"propose-[0-9a-f]+-pass1-version[0-9]+-part0-try0", proposals[0])


# Workers that are lost, or of no use


@pytest.fixture(scope="module")
def processes():
    with open_cluster(2, processes=True) as cluster, distributed.Client(cluster) as client:
        yield client


def kill(client, count):
    for process in client.run(os.getpid, workers=list(client.nthreads())[:count]).values():
        os.kill(process, 9)


@pytest.mark.parametrize("count", [1, 2], ids=["one", "all, which are started again"])
def test_same_bytes_after_workers_were_killed(processes, store, wanted, count):
    processes.wait_for_workers(2)
    passes = []

    def told(each):
        passes.append(each)
        if len(passes) == 2:
            kill(processes, count)

    found = select(store, CASES[1], engine=Dask(processes), on_pass=told)
    assert found.labels.tobytes() == wanted[CASES[1]].labels.tobytes()
    assert found.history == wanted[CASES[1]].history


@pytest.mark.parametrize("client", [2], indirect=True)
@pytest.mark.parametrize("n_forgotten", [1, 3])
def test_workers_that_forget(client, store, wanted, monkeypatch, n_forgotten):
    """In the middle of a pass, while tasks of further groups are under way."""
    answers, left = Dask._answers, [7] * n_forgotten

    def forget(self, snapshot):
        if self._number > 5 and left:
            left.pop()
            dask_messages._copies.clear()
        return answers(self, snapshot)

    monkeypatch.setattr(Dask, "_answers", forget)
    found = select(store, CASES[1], engine=Dask(client))
    assert left == []
    assert found.labels.tobytes() == wanted[CASES[1]].labels.tobytes()
    assert found.history == wanted[CASES[1]].history


@pytest.mark.parametrize("client", [2], indirect=True)
def test_workers_that_settle_otherwise(client, store, wanted, monkeypatch):
    """As a processor might that rounds otherwise: the driver notices, and sends what it has."""
    settle, numbers, sent, send = dask_messages._settle, [], [], Dask._send

    def settle_less(copy, answers):
        numbers.append(1)
        if len(numbers) in (3, 9):
            answers = [each._replace(counts=np.zeros_like(each.counts), labels=each.labels[:0]) for each in answers]
            answers = [each._replace(values=each.values[:0]) for each in answers]
        settle(copy, answers)

    monkeypatch.setattr(dask_messages, "_settle", settle_less)
    monkeypatch.setattr(Dask, "_send", lambda self, *rest: sent.append(1) or send(self, *rest))
    found = select(store, CASES[0], engine=Dask(client))
    assert len(sent) == 6  # to both workers, three times
    assert found.labels.tobytes() == wanted[CASES[0]].labels.tobytes()
    assert found.history == wanted[CASES[0]].history


def test_workers_that_join(store, wanted):
    with open_cluster(1) as cluster, distributed.Client(cluster) as client:
        passes, engine = [], Dask(client)

        def told(each):
            passes.append(len(engine._crew))
            if len(passes) == 2:
                cluster.scale(3)
                client.wait_for_workers(3)

        found = select(store, CASES[0], engine=engine, on_pass=told)
    assert passes[:2] == [1, 1]
    assert passes[-1] == 3
    assert found.labels.tobytes() == wanted[CASES[0]].labels.tobytes()


@pytest.mark.parametrize("client", [2], indirect=True)
def test_a_pass_that_is_stopped_half_way(client, store, probabilities):
    """Workers have gone on; the next pass on the same engine must not build on that."""

    class Half(Observer):
        def goes_on(self):
            self.n_groups = getattr(self, "n_groups", 0) + 1
            return self.n_groups <= 5

    problem = resolve(Request(store, "macro-f1", 3, expectation="semi", method="ascent", engine=Dask(client)))
    plain = resolve(Request(store, "macro-f1", 3, expectation="semi", method="ascent", workers=2))
    found = []
    for each, engine in ((problem, problem.engine), (plain, plain.engine)):
        with engine:
            begin = start(each, None, Observer())
            run_pass(each, begin.state, begin.positions, each.order, each.group_size, Half())
            run_pass(each, begin.state, begin.positions, each.order, each.group_size, Observer())
            found.append((begin.positions.tobytes(), begin.state.counts.tobytes()))
    assert found[0] == found[1]


class Stopped(Exception):
    pass


@pytest.mark.parametrize("goes_on_with_threads", [False, True])
def test_driver_that_is_stopped_goes_on(client, store, wanted, tmp_path, goes_on_with_threads):
    def stop(each):
        if each.stage == "rows" and len(each.history) > 2:
            raise Stopped

    with pytest.raises(Stopped):
        select(store, CASES[1], engine=Dask(client), checkpoint=tmp_path, on_pass=stop)
    more = {} if goes_on_with_threads else {"engine": Dask(client)}
    found = select(store, CASES[1], checkpoint=tmp_path, **more)
    assert found.labels.tobytes() == wanted[CASES[1]].labels.tobytes()
    assert found.history == wanted[CASES[1]].history


def test_store_that_vanished_in_the_middle(store, wanted, tmp_path):
    shutil.copytree(store, tmp_path / "b.store")

    def remove(each):
        (tmp_path / "b.store" / "labels.npy").unlink(missing_ok=True)

    found = select(tmp_path / "b.store", CASES[0], on_pass=remove)  # what is mapped stays
    assert found.labels.tobytes() == wanted[CASES[0]].labels.tobytes()


def test_store_that_vanished_before_a_worker_opened_it(client, store, tmp_path):
    shutil.copytree(store, tmp_path / "b.store")

    def remove(each):
        (tmp_path / "b.store" / "labels.npy").unlink(missing_ok=True)
        dask_messages._copies.clear()  # as if workers had been started again

    with pytest.raises(ClusterError, match=r"a worker does not see .*b.store/labels.npy"):
        select(tmp_path / "b.store", CASES[0], engine=Dask(client), on_pass=remove)


WITHOUT_TAILWISE = """
import sys
sys.modules["tailwise"] = None
from distributed.cli.dask_worker import main
main([sys.argv[1], "--nthreads", "1", "--no-nanny", "--no-dashboard"])
"""


def test_worker_without_tailwise(store):
    with open_cluster(0, processes=True) as cluster, distributed.Client(cluster) as client:
        worker = subprocess.Popen(
            [sys.executable, "-c", WITHOUT_TAILWISE, cluster.scheduler_address], stderr=subprocess.DEVNULL
        )
        try:
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(ClusterError, match="It cannot: a worker has no tailwise"):
                select(store, CASES[0], engine=Dask(client))
        finally:
            worker.kill()
            worker.wait()


def test_all_workers_lost(store, monkeypatch):
    monkeypatch.setattr(dask_workers, "POLL", 0.1)
    with open_cluster(1) as cluster, distributed.Client(cluster) as client:

        def told(each):
            cluster.scale(0)

        with pytest.raises(ClusterError, match="It cannot: it has no workers"):
            select(store, CASES[0], engine=Dask(client, patience=0.3), on_pass=told)


def test_scheduler_that_does_not_answer():
    with pytest.raises(ClusterError, match=r"The scheduler at tcp://127\.0\.0\.1:9 did not answer within 0\.5 seconds"):
        Dask("tcp://127.0.0.1:9", patience=0.5)


def test_what_is_no_client():
    with pytest.raises(InputError, match=r"client must be a distributed.Client or the address of a scheduler. Got int"):
        Dask(3)


def test_workers_of_another_version(client, store, monkeypatch):
    monkeypatch.setattr(dask_workers, "release", lambda: "9.9")
    with pytest.raises(ClusterError, match=r"has tailwise .*, this process 9\.9"):
        select(store, CASES[0], engine=Dask(client))


class Answer:
    def __init__(self, error):
        self.error = error

    def done(self):
        return True

    def result(self, timeout):
        raise self.error


def test_workers_without_what_they_need(client):
    engine = Dask(client)
    with pytest.raises(ClusterError, match="a worker has no tailwise"):
        engine._answer_of(Answer(ModuleNotFoundError("No module", name="tailwise")))
    with pytest.raises(ClusterError, match=r"a worker does not see /there/labels.npy: give a store"):
        engine._answer_of(Answer(FileNotFoundError(2, "No such file", "/there/labels.npy")))


def test_tasks_that_fail_again_and_again(client, store, monkeypatch):
    monkeypatch.setattr(Dask, "_fetch", lambda self, jobs: [("lost", "no reason", "")] * len(jobs))
    with pytest.raises(ClusterError, match="a task failed 4 times, at last with no reason"):
        select(store, CASES[0], engine=Dask(client))


def test_workers_that_cannot_be_reached(client, store, wanted, monkeypatch):
    scatter, failures = client.scatter, [OSError("closed"), TimeoutError()]

    def fail(messages, **more):
        if failures and isinstance(messages[0], dask_messages.Snapshot):
            raise failures.pop()
        return scatter(messages, **more)

    monkeypatch.setattr(client, "scatter", fail)
    found = select(store, CASES[0], engine=Dask(client))
    assert found.labels.tobytes() == wanted[CASES[0]].labels.tobytes()
    failures.extend([OSError("closed")] * 4)
    with pytest.raises(ClusterError, match="It cannot: 4 attempts to send totals to a worker failed, at last to"):
        select(store, CASES[0], engine=Dask(client))


def occupy(client, path):
    """Keep a worker busy until there is a file."""
    return client.submit(wait_for, str(path), workers=[min(client.nthreads())], pure=False)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.02)


def test_a_busy_worker_is_not_waited_for_while_another_is_free(store, wanted, tmp_path):
    with open_cluster(2) as cluster, distributed.Client(cluster) as client:
        busy = occupy(client, tmp_path / "free")
        found = select(store, CASES[0], engine=Dask(client, patience=0.2))
        assert not busy.done()
        (tmp_path / "free").touch()
        busy.result()
    assert found.labels.tobytes() == wanted[CASES[0]].labels.tobytes()


def test_busy_workers_are_waited_for_if_there_are_no_others(store, wanted, tmp_path):
    with open_cluster(1) as cluster, distributed.Client(cluster) as client:
        busy = occupy(client, tmp_path / "free")
        threading.Timer(0.3, (tmp_path / "free").touch).start()
        found = select(store, CASES[0], engine=Dask(client, patience=0.1))
        assert busy.done()
    assert found.labels.tobytes() == wanted[CASES[0]].labels.tobytes()


def test_command_on_a_local_cluster(client, store, tmp_path, capsys, monkeypatch):
    from tailwise.cli.main import main

    monkeypatch.setattr(dask_cluster, "local_cluster", lambda size: nullcontext(client))
    command = ["select", str(store), "-u", "macro-f1", "-k", "3", "--quiet", "--method", "ascent"]
    assert main([*command, "-o", str(tmp_path / "a.npz"), "--local-cluster", "1"]) == 0
    assert main([*command, "-o", str(tmp_path / "b.npz")]) == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert main([*command, "-o", str(tmp_path / "c.npz"), "--local-cluster", "0"]) == 2
    assert "--local-cluster must be an integer of at least 1" in capsys.readouterr().err
    assert main([*command, "-o", str(tmp_path / "c.npz"), "--local-cluster", "1", "--scheduler", "x"]) == 2
    assert "--scheduler and --local-cluster must not both be given" in capsys.readouterr().err
