"""`predict`: the probabilities of a model in a store, part by part, the same wherever the parts are predicted."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import FileError, InputError
from tailwise.models import predicting

N, M = 90, 12


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(0).random((N, 6), dtype=np.float32)


@pytest.fixture(scope="module")
def model(features, tmp_path_factory):
    rng = np.random.default_rng(1)
    fitted = tw.LabelTree(random_state=0).fit(features, (rng.random((N, M)) < 0.2).astype(np.int8))
    path = tmp_path_factory.mktemp("model") / "a.model"
    fitted.save(path)
    return path


@pytest.fixture(scope="module")
def wanted(features, model):
    return tw.load_model(model).predict_proba(features, top=5)


def check(store, wanted):
    found = tw.load(store)
    assert found.shape == wanted.shape
    assert (found.indices == wanted.indices).all()
    assert found.data.tobytes() == wanted.data.tobytes()


@pytest.mark.parametrize("is_sparse", [False, True])
def test_matrix_in_parts(features, model, wanted, tmp_path, monkeypatch, is_sparse):
    monkeypatch.setattr(predicting, "ROWS_AT_ONCE", 25)
    X = sp.csr_array(features) if is_sparse else features
    check(tw.predict(tw.load_model(model), X, tmp_path / "a.store", top=5), wanted)


def collections(features):
    import dask.array
    import dask.bag
    import dask.dataframe
    import pandas as pd

    return {
        "array": dask.array.from_array(features, chunks=(40, 6)),
        "array in columns": dask.array.from_array(features, chunks=(40, 3)),
        "sparse": dask.array.from_array(features, chunks=(40, 6)).map_blocks(sp.csr_array),
        "dataframe": dask.dataframe.from_pandas(pd.DataFrame(features), npartitions=3),
    }


@pytest.mark.parametrize("kind", ["array", "array in columns", "sparse", "dataframe"])
def test_collections_on_threads(features, model, wanted, tmp_path, kind):
    pytest.importorskip("dask.dataframe")
    check(tw.predict(model, collections(features)[kind], tmp_path / "a.store", top=5), wanted)


def test_train_here_predict_and_select_on_a_cluster(features, model, wanted, tmp_path):
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.dataframe")
    from engines.clusters import open_cluster

    with open_cluster(2) as cluster, distributed.Client(cluster) as client:
        store = tw.predict(model, collections(features)["array"], tmp_path / "a.store", top=5)
        check(store, wanted)
        found = tw.select(store, "macro-f1", 2, engine=tw.engines.Dask(client))
    assert found.labels.tobytes() == tw.select(store, "macro-f1", 2).labels.tobytes()


def test_names_of_labels_are_kept(features, tmp_path):
    import pandas as pd

    Y = pd.DataFrame(np.eye(3, dtype=np.int8)[np.arange(N) % 3], columns=["tea", "jam", "milk"])
    store = tw.predict(tw.LabelTree().fit(features, Y), features, tmp_path / "a.store")
    assert list(tw.Candidates.of(store).label_names.ids) == ["tea", "jam", "milk"]


def test_failure_leaves_no_store(features, model, tmp_path):
    with pytest.raises(InputError):
        tw.predict(model, features[:, :3], tmp_path / "a.store")
    assert not (tmp_path / "a.store").exists()


def test_existing_store_is_kept(features, model, wanted, tmp_path):
    tw.predict(model, features, tmp_path / "a.store", top=5)
    with pytest.raises(FileError, match="must not exist"):
        tw.predict(model, features[:9], tmp_path / "a.store")
    check(tmp_path / "a.store", wanted)
    assert tw.predict(model, features[:9], tmp_path / "a.store", overwrite=True).n_instances == 9


def test_wrong_input(features, model, tmp_path):
    with pytest.raises(InputError, match=r"top must be"):
        tw.predict(model, features, tmp_path / "a.store", top=0)
    with pytest.raises(FileError, match=r"none.model"):
        tw.predict(tmp_path / "none.model", features, tmp_path / "a.store")
    delayed = pytest.importorskip("dask").delayed
    with pytest.raises(InputError, match=r"X must be features, or a dask.array, .* Got Delayed"):
        tw.predict(model, delayed(features), tmp_path / "a.store")


def test_other_suffixes_are_refused(features, model, tmp_path):
    with pytest.raises(InputError, match=r"target must end in \.store\. Got '.*z\.npz'"):
        tw.predict(model, features, tmp_path / "z.npz")
    assert not (tmp_path / "z.npz").exists()


@pytest.mark.parametrize("is_dask", [False, True])
def test_names_of_columns_are_compared_with_those_of_training(features, tmp_path, is_dask):
    pd = pytest.importorskip("pandas")
    dask = pytest.importorskip("dask.dataframe") if is_dask else None
    frame = pd.DataFrame(features, columns=list("abcdef"), index=np.linspace(0.0, 1.0, N))
    model = tw.LabelTree(random_state=0).fit(frame, np.eye(M, dtype=np.int8)[np.arange(N) % M])

    def given(table):
        return table if dask is None else dask.from_pandas(table, npartitions=2)

    check(tw.predict(model, given(frame), tmp_path / "a.store", top=5), model.predict_proba(frame, top=5))
    with pytest.raises(InputError, match="feature names"):
        tw.predict(model, given(frame[list("fedcba")]), tmp_path / "b.store")


def test_the_index_of_a_table_names_the_instances(features, model, wanted, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(predicting, "ROWS_AT_ONCE", 25)
    ids = [f"r{row}" for row in range(N)]
    store = tw.predict(model, pandas.DataFrame(features, index=ids), tmp_path / "a.store", top=5)
    assert list(tw.Candidates.of(store).instance_ids) == ids
    check(store, wanted)
