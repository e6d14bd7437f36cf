"""What reads every candidate runs on the workers of a cluster, with the same values as on threads."""

import os
import pickle
import sys
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from engines.clusters import distributed, open_cluster

import tailwise as tw
from tailwise.certificates import proof, spread_bound
from tailwise.certificates.spread_bound import Own, SpreadBound
from tailwise.cli.main import main
from tailwise.datasets import convert, zipf_candidates
from tailwise.engines import Dask, Threads, dask_cluster, dask_workers
from tailwise.engines.dask_files import SharedFiles
from tailwise.errors import ClusterError
from tailwise.inputs.matrices import cut_evenly
from tailwise.selection.problem import Proving

N, M = 700, 120
CASES = [
    ("macro-f1", "semi"),
    ("macro-f1", "exact"),
    ("coverage", "exact"),
    ("0.6*precision + 0.3*macro-jaccard + 0.1*coverage", "exact"),
]
LINEAR = [("precision", "semi"), ("macro-recall", "semi"), ("macro-recall", "exact")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Probabilities as a store by label and as a plain one, and true labels."""
    path = tmp_path_factory.mktemp("tasks")
    probabilities = zipf_candidates(N, M, 40, seed=3).astype(np.float32)
    truth = probabilities.copy()
    truth.data = (np.random.default_rng(0).random(truth.nnz) < truth.data).astype(np.float32)
    truth.eliminate_zeros()
    tw.save(path / "p.npz", probabilities)
    tw.save(path / "y.npz", truth)
    convert(path / "p.npz", path / "p.store", by_label=True)
    convert(path / "p.npz", path / "plain.store")
    return path


@pytest.fixture(scope="module", params=[1, 3])
def client(request):
    with open_cluster(request.param) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def two(folder):
    with open_cluster(2, processes=True) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def names(monkeypatch):
    """The tasks that were spread, by name."""
    found, spread = [], Dask.spread

    def note(self, task, *rest):
        found.append(task.__name__)
        spread(self, task, *rest)

    monkeypatch.setattr(Dask, "spread", note)
    return found


@pytest.mark.parametrize("case", LINEAR, ids=str)
def test_closed_forms(client, folder, names, case):
    utility, expectation = case
    wanted = tw.select(folder / "p.npz", utility, 3, expectation=expectation)
    found = tw.select(folder / "p.store", utility, 3, expectation=expectation, engine=Dask(client))
    assert found.labels.tobytes() == wanted.labels.tobytes()
    assert found.expected == wanted.expected
    assert found.method == "instance"
    assert names == (["multiply_nodes"] * len(names) if case == LINEAR[2] else ["best_in_rows"])
    assert any(message.startswith("Other steps: ") for message in found.messages)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_auto_and_greedy(client, folder, case):
    utility, expectation = case
    for method in ("auto", "greedy"):
        options = {"expectation": expectation, "method": method, "max_passes": 4}
        wanted = tw.select(folder / "p.npz", utility, 3, **options)
        found = tw.select(folder / "p.store", utility, 3, **options, engine=Dask(client))
        assert found.labels.tobytes() == wanted.labels.tobytes()
        assert found.history == wanted.history


@pytest.mark.parametrize("case", [*CASES, ("macro-gmean", "exact")], ids=str)
def test_expected_utility(client, folder, names, case):
    utility, expectation = case
    labels = np.random.default_rng(1).permuted(np.tile(np.arange(M), (N, 1)), axis=1)[:, :3]
    labels[::5, 2] = -1
    wanted = tw.expected_utility(folder / "p.npz", utility, labels, expectation=expectation)
    found = tw.expected_utility(folder / "p.store", utility, labels, expectation=expectation, engine=Dask(client))
    assert found == wanted
    assert ("look_up" in names) == (utility != "macro-gmean")


@pytest.mark.parametrize("case", [*CASES, ("macro-f1", "context")], ids=str)
def test_bound(client, folder, names, case):
    utility, expectation = case
    labels = np.argsort(-tw.load(folder / "p.npz").toarray(), axis=1)[:, :3]
    more = {"rounds": 3, "target_gap": 0.0, "expectation": expectation}
    if expectation == "context":
        more |= {"expectation": "exact", "context": tw.select(folder / "p.npz", utility, 2).totals}
    wanted = tw.certify(folder / "p.npz", utility, 3, labels, **more)
    for store in ("p.store", "plain.store"):
        names.clear()
        found = tw.certify(folder / store, utility, 3, labels, **more, engine=Dask(client))
        assert (found.value, found.history) == (wanted.value, wanted.history)
        assert found.prices.tobytes() == wanted.prices.tobytes()
        assert names.count("bound_labels_of") == 3


@pytest.mark.parametrize("client", [3], indirect=True)
@pytest.mark.parametrize("utility", ["precision", "macro-f1"])
def test_certificates_of_what_is_selected(client, folder, utility):
    """For a given selection where the best one has a closed form, and for the selection that a call finds itself."""
    given = np.tile(np.arange(3), (N, 1)) if utility == "precision" else None
    more = {"rounds": 3, "target_gap": 0.0}
    wanted = tw.certify(folder / "p.npz", utility, 3, given, **more)
    found = tw.certify(folder / "p.store", utility, 3, given, **more, engine=Dask(client))
    assert (found.value, found.history) == (wanted.value, wanted.history)
    assert found.value < found.upper


@pytest.mark.parametrize("client", [3], indirect=True)
@pytest.mark.parametrize(
    ("utility", "expectation"), [("macro-f1", "semi"), ("macro-f1", "exact"), ("macro-jaccard", "semi")]
)
def test_selections_with_a_certificate(client, folder, names, monkeypatch, utility, expectation):
    """Workers bound; the driver puts selections together from the best sets, which need a bit for each candidate."""
    repaired, repair = [], proof.repair
    monkeypatch.setattr(proof, "repair", lambda *rest: repaired.append(rest[2].copy()) or repair(*rest))
    # Up to a gap that is never reached, since where it is, no other selection is looked for.
    monkeypatch.setattr(sys.modules["tailwise.selection.select"], "Proving", lambda: Proving(13, 0.0))
    found = []
    for source, engine in (("p.npz", "threads"), ("p.store", Dask(client))):
        found.append(tw.select(folder / source, utility, 3, expectation=expectation, certify=True, engine=engine))
    wanted, found = found
    assert found.labels.tobytes() == wanted.labels.tobytes()
    assert found.certificate.history == wanted.certificate.history
    assert names.count("bound_labels_of") == len(found.certificate.history)
    half = len(repaired) // 2
    assert half > 0
    assert all(np.array_equal(*both) for both in zip(repaired[:half], repaired[half:], strict=True))


@pytest.mark.parametrize("client", [3], indirect=True)
def test_formula_with_parameters_of_each_label(client, folder, names):
    weights = np.random.default_rng(5).random(M)
    utility = tw.utilities.MacroF1(weights=weights)
    labels = tw.select(folder / "p.npz", "precision", 3).labels
    more = {"rounds": 3, "target_gap": 0.0, "expectation": "semi"}
    wanted = tw.certify(folder / "p.npz", utility, 3, labels, **more)
    assert tw.certify(folder / "p.store", utility, 3, labels, **more, engine=Dask(client)).history == wanted.history


@pytest.mark.parametrize("client", [3], indirect=True)
def test_a_proof_sends_what_sets_are_worth_once(client, folder):
    labels, sent = tw.select(folder / "p.npz", "precision", 3).labels, []
    for rounds in (1, 5):
        engine = Dask(client)
        tw.certify(folder / "p.store", "macro-f1", 3, labels, rounds=rounds, target_gap=0.0, engine=engine)
        sent.append(engine._elsewhere[0])
    assert sent[1] - sent[0] == 4 * (3 * 8 * N + 8 * M)  # prices to each worker, and sizes


def test_a_worker_of_many_threads_makes_terms_once_for_each(folder, monkeypatch):
    copies, own_copy = [], spread_bound.own_copy
    monkeypatch.setattr(spread_bound, "own_copy", lambda message: copies.append(1) or own_copy(message))
    labels = tw.select(folder / "p.npz", "precision", 3).labels
    more = {"rounds": 4, "target_gap": 0.0}
    wanted = tw.certify(folder / "p.npz", "macro-f1", 3, labels, **more)
    with open_cluster(1, threads=12) as cluster, distributed.Client(cluster) as client:
        found = tw.certify(folder / "p.store", "macro-f1", 3, labels, **more, engine=Dask(client))
    assert found.history == wanted.history
    assert len(copies) == 12


@pytest.mark.parametrize("client", [3], indirect=True)
def test_workers_keep_nothing_after_a_proof(client, folder, monkeypatch):
    """Not even until the engine is closed, which may serve for more."""
    at, leave, kept = SpreadBound.at, Dask.__exit__, []

    def note_and_bound(self, *arguments):
        found = at(self, *arguments)
        kept.append(len(self._engine._kept))
        return found

    def note_and_leave(self, *error):
        kept.append(len(self._kept))
        leave(self, *error)

    monkeypatch.setattr(SpreadBound, "at", note_and_bound)
    monkeypatch.setattr(Dask, "__exit__", note_and_leave)
    labels = tw.select(folder / "p.npz", "precision", 3).labels
    tw.certify(folder / "p.store", "macro-f1", 3, labels, rounds=2, target_gap=0.0, engine=Dask(client))
    assert kept[-3:] == [3, 3, 0]


def test_what_a_worker_makes_of_a_part_is_not_sent():
    own = Own()
    own.worth = object()
    assert pickle.loads(pickle.dumps(own)).worth is None


@pytest.mark.parametrize("client", [3], indirect=True)
def test_evaluate(client, folder, names, tmp_path, monkeypatch, capsys):
    tw.select(folder / "p.npz", "macro-f1", 3).save(tmp_path / "c.npz")
    inputs = {"probabilities": folder / "p.store", "metrics": ["precision", "macro-f1", "coverage"]}
    wanted = tw.evaluate(folder / "y.npz", tmp_path / "c.npz", **inputs)
    found = tw.evaluate(folder / "y.npz", tmp_path / "c.npz", **inputs, engine=Dask(client))
    assert dict(found) == dict(wanted)
    assert found.expected == wanted.expected
    assert names.count("look_up") == 3
    monkeypatch.setattr(dask_cluster, "local_cluster", lambda size: nullcontext(client))
    command = ["evaluate", str(folder / "y.npz"), str(tmp_path / "c.npz"), "-m", "macro-f1"]
    probabilities = ["--probabilities", str(folder / "p.store")]
    assert main([*command, *probabilities]) == 0
    plain = capsys.readouterr().out
    assert main([*command, *probabilities, "--local-cluster", "1"]) == 0
    assert capsys.readouterr().out == plain
    assert names.count("look_up") == 4
    assert main([*command, "--local-cluster", "1"]) == 2
    assert "A cluster computes expected values, which need --probabilities" in capsys.readouterr().err


def test_parts_do_not_depend_on_where_entries_are():
    pointers = np.array([0, 0, 0, 90, 90, 100])

    edges = cut_evenly(pointers, 4)
    assert (edges[0], edges[-1], len(edges)) == (0, 5, 5)
    assert edges == sorted(edges)
    assert Threads(4).cut(pointers) == [(first, last) for first, last in pairwise(edges) if first < last]


# Workers that are lost


def test_worker_killed_between_rounds(two, folder):
    labels = tw.select(folder / "p.npz", "precision", 3).labels
    more = {"rounds": 5, "target_gap": 0.0}
    wanted = tw.certify(folder / "p.npz", "macro-f1", 3, labels, **more)
    rounds = []

    def told(each):
        rounds.append(each)
        if len(rounds) == 2:
            os.kill(next(iter(two.run(os.getpid).values())), 9)

    found = tw.certify(folder / "p.store", "macro-f1", 3, labels, **more, engine=Dask(two), on_pass=told)
    assert found.history == wanted.history


@pytest.mark.parametrize("client", [3], indirect=True)
def test_tasks_that_are_lost_run_again(client, folder, monkeypatch):
    wanted, answer_of, failures = tw.select(folder / "p.npz", "precision", 3), Dask._answer_of, [1] * 3

    def fail(self, future, *rest):
        if "best-in-rows" in future.key and failures:
            failures.pop()
            return dask_workers.LOST
        return answer_of(self, future, *rest)

    monkeypatch.setattr(Dask, "_answer_of", fail)
    found = tw.select(folder / "p.store", "precision", 3, engine=Dask(client))
    assert found.labels.tobytes() == wanted.labels.tobytes()
    failures.extend([1] * 100)
    with pytest.raises(ClusterError, match="a task failed 4 times, at last with a lost worker"):
        tw.select(folder / "p.store", "precision", 3, engine=Dask(client))


FILES = {
    "closed form": lambda p, y, top, engine: tw.select(p, "precision", 3, engine=engine),
    "passes": lambda p, y, top, engine: tw.select(p, "macro-f1", 3, expectation="exact", engine=engine),
    "value": lambda p, y, top, engine: tw.expected_utility(p, "macro-f1", top, engine=engine),
    "metrics": lambda p, y, top, engine: tw.evaluate(y, top, probabilities=p, metrics=["macro-f1"], engine=engine),
    "proof": lambda p, y, top, engine: tw.certify(p, "macro-f1", 3, top, rounds=2, engine=engine),
    "linear": lambda p, y, top, engine: tw.certify(p, "precision", 3, top, engine=engine),
}


@pytest.mark.parametrize("client", [3], indirect=True)
@pytest.mark.parametrize("call", FILES.values(), ids=FILES)
def test_no_file_is_left(client, folder, tmp_path, monkeypatch, call):
    """Of those written for the workers: when all is done, and wherever the cluster fails."""
    probabilities, truth = tw.load(folder / "p.npz"), tw.load(folder / "y.npz")
    top = np.argsort(-probabilities.toarray(), axis=1)[:, :3]
    written, write, run = [], SharedFiles._write, Dask.spread
    monkeypatch.setattr(SharedFiles, "_write", lambda self, array: written.append(1) or write(self, array))
    names = []
    monkeypatch.setattr(Dask, "spread", lambda self, task, *rest: names.append(task) or run(self, task, *rest))
    call(probabilities, truth, top, Dask(client, folder=tmp_path))
    assert written
    assert list(tmp_path.iterdir()) == []
    for failing in {names.index(task) for task in names}:
        left = [0] * failing

        def fail(self, task, shared, *rest, left=left):
            if not left:
                self._files.of(shared)
                self._refuse("it is a test")
            left.pop()
            run(self, task, shared, *rest)

        monkeypatch.setattr(Dask, "spread", fail)
        with pytest.raises(ClusterError, match="it is a test"):
            call(probabilities, truth, top, Dask(client, folder=tmp_path))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("client", [3], indirect=True)
def test_arguments_that_cannot_be_sent(client, folder, monkeypatch):
    wanted, scatter, failures = tw.select(folder / "p.npz", "precision", 3), client.scatter, [OSError("closed")]

    def fail(*arguments, **more):
        if failures:
            raise failures.pop()
        return scatter(*arguments, **more)

    monkeypatch.setattr(client, "scatter", fail)
    found = tw.select(folder / "p.store", "precision", 3, engine=Dask(client))
    assert found.labels.tobytes() == wanted.labels.tobytes()
    failures.extend([TimeoutError()] * 4)
    with pytest.raises(ClusterError, match="4 attempts to send arguments to a worker failed"):
        tw.select(folder / "p.store", "precision", 3, engine=Dask(client))


@pytest.mark.parametrize("client", [3], indirect=True)
def test_workers_of_another_version(client, folder, monkeypatch):
    monkeypatch.setattr(dask_workers, "release", lambda: "9.9")
    with pytest.raises(ClusterError, match=r"has tailwise .*, this process 9\.9"):
        tw.select(folder / "p.store", "precision", 3, engine=Dask(client))
