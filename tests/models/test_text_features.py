"""Text features against scikit-learn's own vectoriser and the formula; streams, files, errors."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

import tailwise as tw
from tailwise.datasets.formats.saved_object import write_object
from tailwise.errors import FileError, InputError
from tailwise.inputs.texts import are_texts, check_texts

TEXTS = ["The label tree", "a long tail of labels", "Trees and trees and tails", "the tree of the tail"]


def test_values_are_those_of_scikit_learn():
    expected = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b", ngram_range=(1, 2)).fit(TEXTS)
    features = tw.TextFeatures(words=(1, 2)).fit(TEXTS)
    assert features.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_allclose(features.transform(TEXTS).toarray(), expected.transform(TEXTS).toarray(), atol=1e-6)


def test_values_are_those_of_the_formula():
    features = tw.TextFeatures(sublinear=True).fit(["a a b", "a"])
    raw = np.array([(1 + math.log(2)) * 1.0, math.log(3 / 2) + 1])
    np.testing.assert_allclose(features.transform(["a a b"]).toarray()[0], raw / np.linalg.norm(raw), atol=1e-6)
    plain = tw.TextFeatures(sublinear=False).fit(["a a b", "a"]).transform(["a a b"]).toarray()[0]
    assert plain[0] / plain[1] == pytest.approx(2.0 / raw[1])


def test_characters_stand_beside_words():
    features = tw.TextFeatures(characters=(3, 3)).fit(TEXTS)
    names = features.get_feature_names_out().tolist()
    assert "label" in names
    assert "lab" in names
    assert features.transform(["labelling"]).nnz > 0
    assert tw.TextFeatures().fit(TEXTS).transform(["labelling"]).nnz == 0


@pytest.mark.parametrize(("n", "least"), [(10, 1), (1_000, 2), (10_000, 3)])
def test_min_df_follows_the_size(n, least):
    texts = ["common"] * (n - 6) + ["once", "twice twice", "twice", "thrice", "thrice", "thrice"]
    names = tw.TextFeatures().fit(texts).get_feature_names_out()
    assert [("once" in names), ("twice" in names), ("thrice" in names)] == [least <= 1, least <= 2, True]


def test_stop_words_case_and_size():
    assert "the" not in tw.TextFeatures(stop_words="english").fit(TEXTS).get_feature_names_out()
    assert "tree" not in tw.TextFeatures(stop_words=["tree"]).fit(TEXTS).get_feature_names_out()
    assert "The" in tw.TextFeatures(lowercase=False).fit(TEXTS).get_feature_names_out()
    assert tw.TextFeatures(max_features=2).fit(TEXTS).n_features_out_ == 2


def test_a_stream_has_the_features_of_the_whole():
    whole = tw.TextFeatures(hashing=64, characters=(3, 4)).fit(TEXTS)
    parts = tw.TextFeatures(hashing=64, characters=(3, 4)).partial_fit(TEXTS[:1]).partial_fit(TEXTS[1:])
    assert (whole.transform(TEXTS) != parts.transform(TEXTS)).nnz == 0
    assert whole.n_features_out_ == 128
    assert whole.get_feature_names_out().size == 128


def test_any_column_of_texts_and_a_clone():
    expected = tw.TextFeatures().fit(TEXTS).transform(TEXTS)
    for texts in (np.array(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS), tuple(TEXTS)):
        assert are_texts(texts)
        assert (clone(tw.TextFeatures()).fit(texts).transform(texts) != expected).nnz == 0
    for other in (np.eye(3), [1.0], [], np.array([]), "text", np.array([None, "a"])):
        assert not are_texts(other)


@pytest.mark.parametrize(
    "features",
    [
        tw.TextFeatures(words=(1, 2), stop_words=["the"]),
        tw.TextFeatures(hashing=np.int64(32)),
        tw.TextFeatures(words=None, characters=(2, 3)),
    ],
)
def test_a_file_gives_the_same_features(tmp_path, features):
    features.fit(TEXTS)
    features.save(tmp_path / "features.npz")
    loaded = tw.TextFeatures.load(tmp_path / "features.npz")
    assert (loaded.transform(TEXTS) != features.transform(TEXTS)).nnz == 0
    assert loaded.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "features.npz"
    features = tw.TextFeatures().fit(TEXTS)
    features.save(path)
    with np.load(path) as archive:
        header, arrays = json.loads(str(archive["header"])), {name: archive[name] for name in archive.files[1:]}
    kind = header.pop("kind")
    version = header.pop("version")
    write_object(path, kind, version + 1, header, arrays)
    with pytest.raises(FileError, match=r"must have version 1 of its format\. Got version 2\. Update tailwise"):
        tw.TextFeatures.load(path)
    write_object(path, kind, version, header, {**arrays, "document_counts": arrays["document_counts"] + 1})
    with pytest.raises(FileError, match="Its checksums differ"):
        tw.TextFeatures.load(path)
    write_object(path, kind, version, header, {**arrays, "document_counts": arrays["document_counts"][1:]})
    with pytest.raises(FileError, match="Got another file, or a damaged one"):
        tw.TextFeatures.load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": (2, 1)}, r"words must be a pair of lengths such as \(1, 2\), or None\. Got \(2, 1\)"),
        ({"characters": 3}, "characters must be a pair of lengths"),
        ({"words": None}, "words or characters must be a pair of lengths"),
        ({"min_df": "some"}, "min_df must be"),
        ({"min_df": 0}, "min_df must be"),
        ({"max_features": 0}, "max_features must be"),
        ({"hashing": 1}, "hashing must be"),
        ({"stop_words": "klingon"}, "stop_words must be"),
        ({"stop_words": [3]}, "stop_words must be a list of texts"),
        ({"min_df": 9}, r"X must have terms that occur in 9 texts\. .* Set min_df=1"),
    ],
)
def test_invalid_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        tw.TextFeatures(**options).fit(TEXTS)


def test_a_stream_needs_hashing():
    with pytest.raises(InputError, match=r"partial_fit needs a table of fixed size, .* Use hashing=2\*\*20"):
        tw.TextFeatures().partial_fit(TEXTS)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("text", r"X must be a list of texts, one for each instance\. Got 'text'\. Use \[text\]"),
        (3, r"Got 3\. Use \[text\]"),
        ([], "Got an empty list"),
        (["a", None], r"Got None of type NoneType in row 1\. Convert it with str\(\)"),
        (["a", " \n"], r"with at least one word\. Got an empty text in row 1\. Remove it, or write 'untitled'"),
        (np.array([["a"]]), r"Got an array of shape \(1, 1\)\. Pass one column"),
    ],
)
def test_other_texts_are_refused(texts, message):
    with pytest.raises(InputError, match=message):
        check_texts(texts, "X")


@pytest.mark.parametrize("hashing", [None, 64])
def test_parameters_changed_after_fitting_wait_for_the_next_fit(tmp_path, hashing):
    texts = ["the label tree", "the long Tail of labels"]
    features = tw.TextFeatures(hashing=hashing).fit(texts)
    before = features.transform(texts).toarray()
    features.set_params(hashing=16 if hashing is None else None, characters=(2, 3), sublinear=False, lowercase=False)
    assert (features.transform(texts).toarray() == before).all()
    assert features.get_feature_names_out().size == before.shape[1]
    features.save(tmp_path / "f.npz")
    assert (tw.TextFeatures.load(tmp_path / "f.npz").transform(texts).toarray() == before).all()
    assert features.fit(texts).transform(texts).shape[1] != before.shape[1]
