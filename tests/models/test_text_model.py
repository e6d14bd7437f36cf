"""The text model: it learns, resumes, saves and loads; LightXML against plain torch; errors."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")
import torch
from reference import lightxml
from reference.tiny_encoder import make_tiny_encoder
from sklearn.base import clone

import tailwise as tw
from tailwise.errors import FileError, InputError, MissingExtraError, NumericalError
from tailwise.models.bag_network import BagNetwork, begin
from tailwise.models.bag_training import BagOptions, Rows, _loss, _Sampler
from tailwise.models.label_clusters import cluster_labels
from tailwise.models.network_training import Average, Training, train

WORDS = ("tree", "tail", "label", "long")
SMALL = {"size": 8, "epochs": 4, "batch_size": 16, "learning_rate": 0.02, "n_jobs": 1}
NEW = {"layers": 4, "size": 8, "heads": 2, "vocabulary": 60}
TINY = {"encoder": NEW, "epochs": 2, "batch_size": 20, "bottleneck": 6, "validation": 0, "n_jobs": 1}


def draw(n=240, seed=0):
    """Texts whose words are their labels, with other words between."""
    random = np.random.default_rng(seed)
    Y = (random.random((n, 4)) < 0.4).astype(int)
    Y[np.arange(n), random.integers(4, size=n)] = 1
    texts = [" of a ".join(word for word, is_in in zip(WORDS, row, strict=True) if is_in) for row in Y]
    return texts, Y


def dense_of(texts):
    return np.array([[word in text for word in WORDS] for text in texts], dtype=np.float32)


@pytest.fixture(scope="module")
def fitted():
    texts, Y = draw()
    return tw.TextModel(**SMALL).fit(texts, Y)


@pytest.fixture(scope="module")
def clustered():
    texts, Y = draw(80)
    return tw.TextModel(**TINY, cluster_from=2, cluster_size=2, shortlist=2).fit(texts, Y)


@pytest.mark.parametrize("negatives", [0, 20, 60])
def test_how_often_a_label_is_a_candidate(negatives):
    random = np.random.default_rng(2)
    Y = sp.csr_array(random.random((400, 60)) < random.random(60) * 0.05)
    rows = Rows(None, np.ones((400, 1), np.float32), Y)
    options = BagOptions(4, 0.0, 1, 1, 8, negatives, 0.01, "cpu", None, "", progress=False)
    sampler = _Sampler(rows, options, seed=0)
    samples = [sample for epoch in range(60) for sample in sampler.batches(epoch)]
    counted = np.bincount(np.concatenate([sample.labels.numpy() for sample in samples]), minlength=60)
    np.testing.assert_allclose(np.exp(sampler.shift), counted / len(samples), atol=0.04)
    for sample in samples[:5]:
        np.testing.assert_allclose(sample.shift.numpy(), sampler.shift[sample.labels.numpy()])
        np.testing.assert_allclose(sample.targets.sum(dim=1).numpy(), 1.0, rtol=1e-5)


def test_the_loss_is_a_corrected_softmax():
    Y = sp.csr_array(np.eye(6)[[0, 1, 2, 3]] + np.eye(6)[[1, 1, 4, 5]] > 0)
    rows = Rows(None, np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32), Y)
    sampler = _Sampler(rows, BagOptions(4, 0.0, 1, 1, 4, 2, 0.01, "cpu", None, "", progress=False), seed=0)
    network = BagNetwork(0, 3, 6, 4, 0.0)
    begin(network, None, rows.dense, Y, 0)
    sample = next(iter(sampler.batches(0)))
    scores = network.score(network(sample.batch)).detach().numpy().astype(np.float64)
    labels, total = sample.labels.numpy(), 0.0
    for row, targets in zip(scores, sample.targets.numpy(), strict=True):
        corrected = np.exp(row[labels]) / np.exp(sampler.shift[labels])
        total -= targets @ np.log(corrected / corrected.sum())
    assert _loss(network, sample).item() == pytest.approx(total / 4, rel=1e-5)


def test_it_learns_which_words_are_labels(fitted):
    texts, Y = draw(seed=1)
    found = fitted.predict_proba(texts, top=4).toarray()
    assert found.shape == Y.shape
    assert found[Y == 1].mean() > 0.6 > 0.2 > found[Y == 0].mean()
    assert abs(found.sum() - Y.sum()) < 0.15 * Y.sum()  # calibrated on held-out rows
    assert len(fitted.history_) <= 4
    assert max(fitted.history_) > 0.4
    assert fitted.priors_.n_labels == 4
    assert fitted.predict(texts, k=1).sum() == len(texts)
    assert fitted.predict(texts).dtype == Y.dtype
    assert fitted.classes_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("part", ["sparse", "dense", "both"])
def test_features_instead_of_texts(part):
    texts, Y = draw()
    sparse, dense = tw.TextFeatures().fit_transform(texts), dense_of(texts)
    X = {"sparse": sparse, "dense": dense, "both": tw.SideBySide(sparse, dense)}[part]
    model = tw.TextModel(**SMALL).fit(X, sp.csr_array(Y))
    found = model.predict_proba(X, top=4).toarray()
    assert found[Y == 1].mean() > found[Y == 0].mean() + 0.2
    assert model.n_features_in_ == X.shape[1]
    assert sp.issparse(model.predict(X))
    with pytest.raises(InputError, match=r"X must have the features of fit, .* Use the same features"):
        model.predict_proba(np.ones((1, 3)))
    with pytest.raises(InputError, match=r"Got texts. Pass features, or fit on texts"):
        model.predict_proba(texts)


def test_embeddings_beside_words(tmp_path):
    texts, Y = draw()
    model = tw.TextModel(embeddings=dense_of, cache=tmp_path / "cache", **SMALL).fit(texts, Y)
    assert model.widths_[1] == 4
    assert model.predict_proba(texts).shape == Y.shape


def test_the_same_seed_gives_the_same_model(fitted):
    texts, Y = draw()
    again = clone(fitted).fit(texts, Y)
    np.testing.assert_array_equal(again.predict_proba(texts).toarray(), fitted.predict_proba(texts).toarray())


def test_a_file_gives_the_same_probabilities(fitted, clustered, tmp_path):
    texts, _ = draw(seed=2)
    for model in (fitted, clustered):
        model.save(tmp_path / "model")
        for loaded in (tw.TextModel.load(tmp_path / "model"), tw.load_model(tmp_path / "model")):
            expected = model.predict_proba(texts).toarray()
            np.testing.assert_allclose(loaded.predict_proba(texts).toarray(), expected, atol=1e-6)


def test_files_of_other_weights_are_refused(fitted):
    packed = fitted.pack()
    packed.arrays["weights/labels"] = packed.arrays["weights/labels"][:2]
    with pytest.raises(ValueError, match="its weights do not fit together"):
        tw.TextModel.unpack(packed)


class Stop(Exception):
    """Raised in the middle of a training."""


@pytest.mark.parametrize("options", [SMALL, {**TINY, "averaging": (0, 1)}])
def test_training_resumes_from_a_checkpoint(options, tmp_path, monkeypatch):
    texts, Y = draw(100)
    expected = tw.TextModel(**options).fit(texts, Y).predict_proba(texts).toarray()
    model = tw.TextModel(**options, checkpoint=tmp_path / "training.pt")
    from tailwise.models import network_training

    whole, calls = network_training._run_epoch, []

    def stop_at_the_second(training, epoch, average):
        calls.append(epoch)
        if epoch == 1 and len(calls) == 2:
            raise Stop
        whole(training, epoch, average)

    monkeypatch.setattr(network_training, "_run_epoch", stop_at_the_second)
    with pytest.raises(Stop):
        model.fit(texts, Y)
    assert not hasattr(model, "network_")
    found = model.fit(texts, Y).predict_proba(texts).toarray()
    assert calls[:3] == [0, 1, 1]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    with pytest.raises(FileError, match="checkpoint must be that of the same training"):
        model.fit(texts, 1 - Y)
    (tmp_path / "training.pt").write_bytes(b"damaged")
    with pytest.raises(FileError, match=r"checkpoint must be a complete file of a training.*Delete it to start again"):
        model.fit(texts, Y)


def test_training_stops_early_and_keeps_the_best_weights():
    texts, Y = draw()
    model = tw.TextModel(**{**SMALL, "epochs": 30, "patience": 2}).fit(texts, Y)
    best = int(np.argmax(model.history_))
    assert len(model.history_) == min(30, best + 3)


def test_the_average_of_weights():
    average, network = Average(), torch.nn.Linear(2, 1)
    values = []
    for seed in range(3):
        torch.manual_seed(seed)
        network.reset_parameters()
        average.add(network)
        values.append(network.weight.detach().clone())
    torch.testing.assert_close(average.weights["weight"], torch.stack(values).mean(dim=0))


# LightXML


@pytest.mark.parametrize("with_groups", [False, True])
def test_checkpoints_of_lightxml_give_its_probabilities(tmp_path, with_groups):
    from transformers import AutoModel, AutoTokenizer

    folder = make_tiny_encoder(tmp_path / "encoder", layers=5, size=8)
    encoder, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(3)
    groups = [[3, 0], [1, 5, 2], [4, 6]] if with_groups else None
    weights = {"l0.weight": torch.randn(3 if with_groups else 7, 40), "l0.bias": torch.randn(3 if with_groups else 7)}
    if with_groups:
        weights |= {"l1.weight": torch.randn(6, 40), "l1.bias": torch.randn(6), "embed.weight": torch.randn(7, 6)}
    position_ids = {"bert.embeddings.position_ids": torch.arange(64)[None]}
    whole = {**weights, **{f"bert.{name}": value for name, value in encoder.state_dict().items()}, **position_ids}
    torch.save(whole, tmp_path / "model.bin")
    model = tw.TextModel.from_lightxml(tmp_path / "model.bin", folder, groups=groups, shortlist=2)
    texts = ["the label tree", "a long tail of the tree", "tail"]
    for found, text in zip(model.predict_proba(texts, top=7).toarray(), texts, strict=True):
        tokens = tokenizer([text], return_tensors="pt")
        tokens = {name: tokens[name] for name in ("input_ids", "attention_mask")}
        np.testing.assert_allclose(found, lightxml.probabilities(weights, encoder, tokens, groups, 2), atol=1e-5)
    with pytest.raises(InputError, match=r"know the frequencies of its labels to be saved.*priors=training_labels"):
        model.save(tmp_path / "model")
    options = {"groups": groups, "shortlist": 2, "priors": np.eye(7)}
    named = tw.TextModel.from_lightxml(tmp_path / "model.bin", folder, **options)
    assert named.priors_.counts.tolist() == [1] * 7
    named.save(tmp_path / "model")
    loaded = tw.load_model(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(texts).toarray(), model.predict_proba(texts).toarray(), atol=1e-6)
    with pytest.raises(InputError, match=r"priors must be those of the 7 labels of the checkpoint\. Got 3"):
        tw.TextModel.from_lightxml(tmp_path / "model.bin", folder, **{**options, "priors": np.eye(3)})


def test_other_checkpoints_are_refused(tmp_path):
    folder = make_tiny_encoder(tmp_path / "encoder", layers=5, size=8)
    load = tw.TextModel.from_lightxml
    with pytest.raises(FileError, match="checkpoint must be a file that exists"):
        load(tmp_path / "nothing.bin", folder)
    (tmp_path / "damaged.bin").write_bytes(b"no tensors")
    with pytest.raises(FileError, match="checkpoint must be a state_dict that torch saved, of tensors only"):
        load(tmp_path / "damaged.bin", folder)
    torch.save({"weight": torch.ones(2)}, tmp_path / "other.bin")
    with pytest.raises(FileError, match="checkpoint must be that of LightXML"):
        load(tmp_path / "other.bin", folder)
    torch.save({"l0.weight": torch.ones(2, 40), "l0.bias": torch.ones(2)}, tmp_path / "half.bin")
    with pytest.raises(InputError, match="checkpoint must fit the encoder and the groups"):
        load(tmp_path / "half.bin", folder)
    parts = {"l0.weight": (2, 40), "l0.bias": (2,), "l1.weight": (6, 40), "l1.bias": (6,), "embed.weight": (3, 6)}
    torch.save({name: torch.ones(shape) for name, shape in parts.items()}, tmp_path / "groups.bin")
    with pytest.raises(InputError, match=r"groups must hold each of the 3 labels once. Got 2 labels"):
        load(tmp_path / "groups.bin", folder, groups=[[0], [1]])


def test_a_new_transformer_learns():
    texts, Y = draw(120)
    options = {**TINY, "epochs": 12, "learning_rate": 0.01, "dropout": 0.0, "averaging": (8, 2)}
    found = tw.TextModel(**options).fit(texts, Y).predict_proba(texts, top=4).toarray()
    assert found[Y == 1].mean() > found[Y == 0].mean() + 0.1


def test_an_encoder_from_a_folder_is_fine_tuned(tmp_path):
    texts, Y = draw(40)
    folder = make_tiny_encoder(tmp_path / "encoder", layers=5, size=8)
    options = {**TINY, "encoder": folder, "epochs": 1}
    model = tw.TextModel(**options).fit(texts, Y)
    assert model.n_features_in_ == 1
    assert model.predict_proba(texts).shape == Y.shape


def test_a_shortlist_has_the_true_labels_in_training(clustered):
    network = clustered.network_
    candidates = torch.tensor([[0, 1, -1], [2, 3, 1]])
    truth = [torch.tensor([1, 2, 3]), torch.tensor([1])]
    assert network._with_truth(candidates, truth).tolist() == [[0, 1, -1, 2, 3], [2, 3, 1, -1, -1]]


def test_clusters_are_balanced_and_similar_labels_are_together():
    Y = sp.csr_array(np.eye(8).repeat(3, axis=0))
    X = sp.csr_array(np.eye(4).repeat(6, axis=0).astype(np.float32))
    clusters = cluster_labels(X, Y, 2, seed=0)
    assert np.bincount(clusters).tolist() == [2, 2, 2, 2]
    assert all(clusters[label] == clusters[label + 1] for label in (0, 2, 4, 6))
    assert cluster_labels(X, Y, 100, seed=0).tolist() == [0] * 8


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be"),
        ({"cluster_size": 1}, "cluster_size must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"dropout": 1.0}, "dropout must be a number of at least 0 and below 1. Got 1.0"),
        ({"validation": -1}, "validation must be a number of at least 0 and below 0.9. Got -1"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0 and below 1. Got 0"),
        ({"averaging": 3}, r"averaging must be an epoch and a number of batches, .* Got 3"),
        ({"encoder": {"depth": 3}}, "encoder must be a folder, a name, or a dict with any of layers, size, heads"),
        ({"encoder": {"size": 9, "heads": 2}}, "size of encoder must be a multiple of heads. Got 9 and 2"),
        ({"encoder": {"layers": 1}}, "layers of encoder must be"),
    ],
)
def test_invalid_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        tw.TextModel(**options).fit(["a"], [[1]])


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (["a", ""], [[1], [1]], "Got an empty text in row 1"),
        (["a", 3], [[1], [1]], "Got 3 of type int in row 1"),
        (np.array([[np.nan]]), [[1]], "X must be finite. Got NaN or infinity"),
        (sp.csr_array([[np.inf]]), [[1]], "X must be finite|must hold finite|NaN"),
        (np.ones(3), [[1]] * 3, r"X must be a list of texts or a matrix of numbers. Got shape \(3,\)"),
        (["a", "b"], [[1]], "X and Y must have the same number of rows"),
        (["a", "b"], [[0], [0]], "Y must have at least one positive. Got none"),
    ],
)
def test_other_inputs_are_refused(X, Y, message):
    with pytest.raises(InputError, match=message):
        tw.TextModel(size=2).fit(X, Y)


def test_inputs_unlike_those_of_fit_are_refused(fitted, clustered):
    with pytest.raises(InputError, match=r"X must be a list of texts, as in fit\. Got ndarray"):
        fitted.predict_proba(np.ones((1, 3)))
    with pytest.raises(InputError, match=r"X must be a list of texts for a model with an encoder. Got csr_array"):
        clustered.predict_proba(sp.csr_array(np.ones((1, 3))))
    with pytest.raises(AttributeError, match="TextModel has no classes_ before fit"):
        _ = tw.TextModel().classes_


def test_a_failed_fit_leaves_the_model_as_it_was(fitted):
    texts, Y = draw()
    before = fitted.predict_proba(texts).toarray()
    with pytest.raises(InputError):
        fitted.fit(texts, Y[:-1])
    np.testing.assert_array_equal(fitted.predict_proba(texts).toarray(), before)


def test_a_loss_that_is_no_number_stops_the_training():
    network = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    loss = torch.tensor(float("nan"))
    training = Training(network, optimizer, lambda epoch: [0], lambda batch: loss, None, 2, 1)
    with pytest.raises(
        NumericalError, match=r"The loss must be a finite number\. Got nan in epoch 1\. Lower learning_rate"
    ):
        train(training)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tailwise\[text\]'"):
        tw.TextModel().fit(["a"], [[1]])


def test_parameters_are_kept_without_functions(tmp_path):
    texts, Y = draw(60)
    model = tw.TextModel(**{**SMALL, "epochs": 1}, embeddings=dense_of, random_state=np.int64(3)).fit(texts, Y)
    header = model.pack().header
    assert header["parameters"]["embeddings"] is None
    json.dumps(header)


@pytest.mark.parametrize(("n_rows", "size", "negatives"), [(30, 8, 5), (30, 30, 3), (6, 8, 0), (30, 8, 12)])
def test_candidates_are_drawn_as_often_as_the_correction_says(n_rows, size, negatives):
    from tailwise.models.bag_training import log_inclusion

    rng = np.random.default_rng(0)
    Y = np.zeros((n_rows, 12), bool)
    for label in range(12):
        Y[rng.permutation(n_rows)[: label * n_rows // 12], label] = True
    drawn = np.zeros(12)
    for _ in range(4000):
        rows = rng.permutation(n_rows)[:size]
        is_candidate = Y[rows].any(axis=0)
        is_candidate[rng.integers(12, size=negatives)] = True
        drawn += is_candidate | (negatives == 12)
    found = np.exp(log_inclusion(Y.sum(axis=0), n_rows, size, negatives))
    np.testing.assert_allclose(found, drawn / 4000, atol=0.035)


def test_without_held_out_rows_there_is_no_history():
    assert (
        tw.TextModel(size=4, epochs=2, validation=0).fit(["a tree", "a tail"] * 5, np.eye(2)[[0, 1] * 5]).history_ == []
    )


def test_a_checkpoint_of_other_texts_is_refused(tmp_path):
    options = {"encoder": {"layers": 4, "size": 8, "heads": 1, "vocabulary": 60}, "epochs": 1, "validation": 0}
    texts, labels = ["a tree", "a tail"] * 5, np.eye(2)[[0, 1] * 5]
    tw.TextModel(**options, checkpoint=tmp_path / "c.pt").fit(texts, labels)
    with pytest.raises(FileError, match=r"Got .* of other data or options"):
        tw.TextModel(**options, checkpoint=tmp_path / "c.pt").fit(["a tail", "a tree"] * 5, labels)
