"""Models on texts: one file with the vocabulary, labels by name, and which model is chosen."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import tailwise as tw
from tailwise.errors import FileError, InputError
from tailwise.models.choosing import Wish, choose_model, describe_model, state_options
from tailwise.models.model import build_model, parse_option, write_option

TEXTS = ["the label tree", "a tall tree", "the long tail", "a tail of labels"] * 15
Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 15)
TAGS = [["trees"], ["trees"], ["tails"], ["tails"]] * 15
NEW = ["an old tree", "a short tail"]
EMBED = {"model": lambda texts: np.array([[len(text), 1.0] for text in texts])}
MODELS = {
    "tree": tw.LabelTree(),
    "neighbours": tw.Neighbours(n_neighbours=5),
    "ensemble": tw.Ensemble(),
    "ready": tw.Ensemble(stacking="ready"),
    "text": tw.TextModel(size=8, epochs=3),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_is_the_model_on_features(name, tmp_path):
    features = tw.TextFeatures().fit(TEXTS)
    plain = clone(MODELS[name]).fit(features.transform(TEXTS), Y)
    model = tw.OnTexts(MODELS[name]).fit(TEXTS, Y)
    expected = plain.predict_proba(features.transform(NEW)).toarray()
    np.testing.assert_array_equal(model.predict_proba(NEW).toarray(), expected)
    model.save(tmp_path / "one.model")
    loaded = tw.load_model(tmp_path / "one.model")
    np.testing.assert_array_equal(loaded.predict_proba(NEW).toarray(), expected)
    assert (loaded.kind, loaded.n_labels_, loaded.n_features_in_) == ("on-texts", 2, 1)
    loaded.save(tmp_path / "two.model")
    assert (tmp_path / "one.model").read_bytes() == (tmp_path / "two.model").read_bytes()


def test_embeddings_beside_words(tmp_path):
    members = [("words", tw.Neighbours(), "sparse"), ("space", tw.Neighbours(), "dense")]
    model = tw.OnTexts(tw.Ensemble(members), embeddings=EMBED["model"]).fit(TEXTS, Y)
    both = model.transform(NEW)
    np.testing.assert_allclose(both.dense[0], np.array([11, 1]) / np.hypot(11, 1), rtol=1e-6)
    model.save(tmp_path / "one.model")
    loaded = tw.load_model(tmp_path / "one.model")
    with pytest.raises(InputError, match=r"trained with a function, which its file cannot hold\. Set it again"):
        loaded.predict_proba(NEW)
    loaded.set_params(embeddings=EMBED["model"])
    np.testing.assert_array_equal(loaded.predict_proba(NEW).toarray(), model.predict_proba(NEW).toarray())


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "one.model"
    tw.OnTexts(tw.LabelTree()).fit(TEXTS, Y).save(path)
    content = bytearray(path.read_bytes())
    content[-70] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match="Its arrays are damaged"):
        tw.load_model(path)


# Labels by name


@pytest.mark.parametrize("name", MODELS)
def test_labels_by_name_come_back_as_names(name, tmp_path):
    model = tw.OnTexts(MODELS[name]).fit(TEXTS, TAGS)
    assert model.priors_.label_names.ids == ("tails", "trees")
    model.save(tmp_path / "one.model")
    assert tw.load_model(tmp_path / "one.model").priors_.label_names.ids == ("tails", "trees")
    by_number = tw.OnTexts(MODELS[name]).fit(TEXTS, Y[:, ::-1])
    np.testing.assert_array_equal(model.predict_proba(NEW).toarray(), by_number.predict_proba(NEW).toarray())


def test_a_run_on_names():
    data = {"X": TEXTS, "Y": TAGS, "X_test": NEW, "Y_test": [{"trees"}, "tails"]}
    run = tw.run(data, "macro-f1", k=1)
    assert [run.label_names.ids[label] for label in run.selection.labels.ravel()] == ["trees", "tails"]
    assert run.evaluation["macro-f1"] == 1
    with pytest.raises(InputError, match=r"Y_test must hold labels that training knows\. Got 'leaves' in row 1"):
        tw.run({**data, "Y_test": [["trees"], ["leaves"]]}, "macro-f1", k=1)
    more = tw.run(
        {**data, "Y_test": [["trees"], ["leaves"]], "label_names": ["leaves", "tails", "trees"]}, "precision", k=1
    )
    assert more.selection.n_labels == 3


def test_neighbours_remember_further_names():
    model = tw.Neighbours(2).fit(np.eye(2), [["a"], ["b"]])
    model.partial_fit([[1.0, 1.0]], [["a", "b"]])
    assert model.priors_.counts.tolist() == [2, 2]
    with pytest.raises(InputError, match=r"labels that training knows\. Got 'c' in row 0"):
        model.partial_fit([[1.0, 1.0]], [["c"]])


# Which model


@pytest.mark.parametrize(
    ("wish", "rows", "n", "name", "why"),
    [
        (Wish(), "features", 100, "ensemble", "default for features"),
        (Wish(), "texts", 100, "ensemble", "default for texts: a label tree"),
        (Wish(), "side by side", 100, "ensemble", "default for sparse and dense features"),
        (Wish(embeddings="folder"), "texts", 100, "ensemble", "default for texts with embeddings"),
        (Wish(), "features", 49, "tree", "default: fewer than 50 training rows"),
        (Wish(on_tree=True), "features", 100, "tree", "default: labels are selected on a label tree"),
        (Wish("neighbours"), "texts", 100, "neighbours", "asked for"),
        (Wish(tw.Neighbours()), "texts", 100, "neighbours", "given as an object"),
    ],
)
def test_which_model_is_chosen(wish, rows, n, name, why):
    choice = choose_model(wish, rows, n)
    assert choice.name == name
    assert choice.why.startswith(why)
    assert isinstance(choice.model, tw.OnTexts) == (rows == "texts")


STATED = {
    "tree": (tw.LabelTree(C=2.0, n_trees=3), "features", {"C": 2.0, "n_trees": 3}),
    "parents": (tw.LabelTree([2, 2, 3, -1]), "features", {"tree": [2, 2, 3, -1]}),
    "ensemble": (tw.Ensemble(folds=3).set_params(tree__C=2.0), "features", {"folds": 3, "tree__C": 2.0}),
    "texts": (tw.OnTexts(tw.LabelTree(C=2.0), features=tw.TextFeatures(words=(1, 2))), "texts", None),
    "text": (tw.TextModel(averaging=(1, 2)), "texts", {"averaging": [1, 2]}),
    "members": (tw.Ensemble([("one", tw.LabelTree()), ("two", tw.LabelTree(C=3))]), "features", "none"),
    "function": (tw.OnTexts(tw.LabelTree(), embeddings=EMBED["model"]), "texts", "none"),
}


@pytest.mark.parametrize(("model", "rows", "options"), STATED.values(), ids=STATED)
def test_options_state_a_model_or_nothing_does(model, rows, options):
    choice = choose_model(Wish(model), rows, 100)
    stated = state_options(choice, rows)
    if options == "none":
        assert stated is None
        return
    found, encoder = stated
    assert encoder is None
    assert found == (options or {"features__words": [1, 2], "C": 2.0})
    read = dict(parse_option(write_option(name, value)) for name, value in found.items())
    again = choose_model(Wish(choice.name, read), rows, 100)
    assert describe_model(again.model) == describe_model(choice.model)


@pytest.mark.parametrize("value", [3, 0.5, None, True, [1, 2], "k-means", "3", "true", "None", "a=b"])
def test_options_are_read_as_they_were_written(value):
    assert parse_option(write_option("name", value)) == ("name", value)


class Constant:
    """A model of someone else: the same labels for all."""

    kind = "constant"

    def __init__(self, label=0, n_jobs=None, random_state=0, progress=False):
        self.label, self.n_jobs, self.random_state, self.progress = label, n_jobs, random_state, progress

    def get_params(self, deep=True):
        return vars(self).copy() if not hasattr(self, "n_labels_") else {}

    def set_params(self, **parameters):
        vars(self).update(parameters)
        return self

    def check_parameters(self):
        pass

    def fit(self, X, Y):
        self.n_labels_, self.priors_ = Y.shape[1], tw.LabelPriors.from_labels(Y)
        return self

    def predict_proba(self, X, top=100):
        columns = np.full(X.shape[0], self.label)
        return sp.csr_array((np.full(X.shape[0], 0.9), (np.arange(X.shape[0]), columns)), (X.shape[0], self.n_labels_))

    def save(self, path):
        path.write_bytes(b"constant")

    @classmethod
    def load(cls, path):
        return cls()


def test_a_run_takes_any_model_of_the_protocol(tmp_path):
    data = {"X": np.eye(60), "Y": np.tile(np.eye(3), (20, 1)), "X_test": np.eye(60)}
    run = tw.run(data, "precision", k=1, model=Constant(2), output=tmp_path / "out")
    assert set(run.selection.labels.ravel()) == {2}
    assert run.record["model"] == {"name": "constant", "why": "given as an object"}
    for model in (tw.Neighbours(), tw.Ensemble(folds=2), tw.TextModel(size=8, epochs=1)):
        assert tw.run(data, "precision", k=1, model=model).model.kind == model.kind


class WithoutPriors(Constant):
    """A model of someone else with parts of its own, and without the frequencies of labels."""

    def fit(self, X, Y):
        self.n_labels_, self.model_ = Y.shape[1], object()
        return self


def test_a_model_without_priors_is_run_with_names_of_labels():
    data = {"X": np.eye(60), "Y": np.tile(np.eye(3), (20, 1)), "X_test": np.eye(60), "label_names": list("abc")}
    assert tw.run(data, "precision", k=1, model=WithoutPriors(1)).selection.labels.max() == 1


def test_names_of_labels_outlast_further_instances():
    data = {"X": np.eye(60), "Y": np.tile(np.eye(3), (20, 1)), "X_test": np.eye(60), "label_names": list("abc")}
    model = tw.run(data, "precision", k=1, model="neighbours").model
    model.partial_fit(sp.csr_array(np.eye(60)[:1]), [["b"]])
    assert list(model.priors_.label_names) == ["a", "b", "c"]
    assert model.priors_.counts.tolist() == [20, 21, 20]


REFUSED = {
    "class": (Wish(tw.LabelTree), "features", r"model must be one of tree, .* Got the class LabelTree"),
    "other": (Wish(object()), "features", r"methods of tailwise.Model\. Got .*, which lacks fit, predict_proba"),
    "texts": (Wish(tw.OnTexts()), "features", r"X must be texts for the model OnTexts\. Got features"),
    "encoder": (Wish(tw.TextModel("folder")), "features", r"X must be texts for the model TextModel"),
    "options": (Wish(tw.LabelTree(), {"C": 1}), "features", r"model_options and embeddings need the name of a model"),
    "embeddings": (Wish(embeddings="folder"), "features", r"are made from texts\. Got features"),
    "strange": (Wish("tree", {"depth": 3}), "texts", r"Got 'depth'\. They are: C, arity"),
    "near": (Wish("tree", {"size": 3}), "texts", r"Got 'size'\. Did you mean leaf_size\?"),
}


@pytest.mark.parametrize(("wish", "rows", "message"), REFUSED.values(), ids=REFUSED)
def test_other_wishes_are_refused(wish, rows, message):
    with pytest.raises(InputError, match=message):
        choose_model(wish, rows, 100)


# Bad input


@pytest.mark.parametrize("name", MODELS)
def test_texts_and_features_are_not_confused(name):
    on_texts, on_features = tw.OnTexts(MODELS[name]).fit(TEXTS, Y), clone(MODELS[name]).fit(np.eye(60), Y)
    with pytest.raises(InputError, match=r"X must be a list of texts, one for each instance\. Got ndarray"):
        on_texts.predict_proba(np.eye(60))
    with pytest.raises(InputError, match=r"Got texts\. (Use tailwise.OnTexts|Pass features)"):
        on_features.predict_proba(NEW)


BAD_TEXTS = {
    "empty": (["a tree", " "], r"Got an empty text in row 1\. Remove it"),
    "number": (["a tree", 3], r"Got 3 of type int in row 1\. Convert it"),
    "missing": (["a tree", None], r"Got None of type NoneType in row 1"),
    "none": ([], r"Got an empty list"),
    "one": ("a tree", r"Use \[text\] for a single one"),
}


@pytest.mark.parametrize(("texts", "message"), BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_bad_texts_are_refused_and_leave_the_model_as_it_was(texts, message):
    model = tw.OnTexts(tw.LabelTree()).fit(TEXTS, Y)
    before = model.predict_proba(NEW).toarray()
    with pytest.raises(InputError, match=message):
        model.predict_proba(texts)
    with pytest.raises(InputError, match=message):
        model.fit(texts, Y[:2])
    np.testing.assert_array_equal(model.predict_proba(NEW).toarray(), before)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("bad", ["nan", "width", "labels"])
def test_bad_features_are_refused_by_every_model(name, bad):
    X = np.eye(60)
    model = clone(MODELS[name])
    if bad == "labels":
        with pytest.raises(InputError, match="X and Y must have the same number of rows"):
            model.fit(X, Y[:10])
        return
    model.fit(X, Y)
    wrong = np.full((1, 60), np.nan) if bad == "nan" else np.ones((1, 7))
    with pytest.raises(InputError, match="NaN" if bad == "nan" else "features"):
        model.predict_proba(wrong)


def test_a_file_of_another_version_is_refused(tmp_path, monkeypatch):
    tw.OnTexts(tw.LabelTree()).fit(TEXTS, Y).save(tmp_path / "one.model")
    monkeypatch.setattr(tw.OnTexts, "VERSION", 2)
    with pytest.raises(FileError, match=r"must have version 2 of the format\. Got version 1\. Train again and save"):
        tw.load_model(tmp_path / "one.model")
    monkeypatch.setattr(tw.OnTexts, "VERSION", 1)
    monkeypatch.setattr(tw.LabelTree, "VERSION", 7)
    with pytest.raises(FileError, match=r"a model of the kind tree has version 1, not 7"):
        tw.load_model(tmp_path / "one.model")


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path, monkeypatch):
    model = tw.OnTexts(tw.LabelTree()).fit(TEXTS, Y)

    def fail(*arguments):
        raise MemoryError

    monkeypatch.setattr(tw.LabelTree, "pack", fail)
    with pytest.raises(MemoryError):
        model.save(tmp_path / "one.model")
    assert list(tmp_path.iterdir()) == []


def test_options_of_a_name():
    assert build_model("ensemble", {"tree__C": 3}).get_params()["tree__C"] == 3
    with pytest.raises(InputError, match=r"model must be one of tree, ensemble, neighbours, text\. Got 'forest'"):
        build_model("forest")
