"""A label tree that was trained on tables: names of labels and ids of instances come out again."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import InputError

pd = pytest.importorskip("pandas")
FEATURES = np.eye(4).repeat(5, axis=0)
LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]]).repeat(5, axis=0)
NAMES, RECORDS = ["art", "law", "sea"], [f"rec{i}" for i in range(4)]


@pytest.mark.parametrize("utility", ["macro-recall", "macro-f1"])
def test_names_and_ids(tmp_path, utility):
    plain = tw.LabelTree(leaf_size=2).fit(FEATURES, LABELS).select(np.eye(4), utility, k=1, seed=1)
    model = tw.LabelTree(leaf_size=2).fit(FEATURES, pd.DataFrame(LABELS, columns=NAMES))
    model.save(tmp_path / "model.tree")
    for each in (model, tw.LabelTree.load(tmp_path / "model.tree")):
        batch = pd.DataFrame(np.eye(4), index=RECORDS).to_numpy()
        assert each.select(batch, utility, k=1, seed=1).instance_ids is None
        frame = pd.DataFrame(np.eye(4), index=RECORDS)
        found = each.select(frame, utility, k=1, seed=1)
        assert np.array_equal(found.labels, plain.labels)
        assert found.to_dict() == {RECORDS[i]: [NAMES[plain.labels[i, 0]]] for i in range(4)}
        assert list(found.to_frame()["label"]) == [NAMES[j] for j in plain.labels[:, 0]]


def test_priors_with_other_names():
    with pytest.raises(InputError, match=r"label_names must hold one name for each of the 2 labels\. Got 1\."):
        tw.LabelPriors([1, 2], 3).with_names(tw.datasets.LabelNames(["a"]))
