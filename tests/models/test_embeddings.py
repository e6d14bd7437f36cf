"""Embeddings of texts: a tiny random encoder against plain torch; the cache; smaller batches; errors."""

import sys

import numpy as np
import pytest
from reference.tiny_encoder import make_tiny_encoder

import tailwise as tw
from tailwise.errors import FileError, InputError, MissingExtraError
from tailwise.models.encoders import is_out_of_memory

TEXTS = ["the label tree", "a long tail", "of", "the tree and the tail of a tree", "tail"]


class Counting:
    """Encodes a text as its length and its first letter; remembers the batches."""

    def __init__(self, largest=99):
        self.batches, self.largest = [], largest

    def __call__(self, texts):
        if len(texts) > self.largest:
            raise MemoryError
        self.batches.append(list(texts))
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=float)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    pytest.importorskip("transformers")
    return make_tiny_encoder(tmp_path_factory.mktemp("encoder") / "plain")


def by_hand(folder, text, pooling):
    import torch
    from transformers import AutoModel, AutoTokenizer

    batch = AutoTokenizer.from_pretrained(folder)([text], return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder).eval()(**batch).last_hidden_state[0].numpy()
    vector = states[0] if pooling == "first" else states.mean(axis=0)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_vectors_are_those_of_plain_torch(encoder, pooling):
    vectors = tw.Embeddings(encoder, precision="fp32", pooling=pooling, batch_size=2).transform(TEXTS)
    expected = [by_hand(encoder, text, pooling) for text in TEXTS]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert vectors.dtype == np.float32


def test_the_folder_says_how_to_pool(tmp_path):
    pytest.importorskip("transformers")
    folder = make_tiny_encoder(tmp_path / "first", pooling="first")
    vectors = tw.Embeddings(str(folder), precision="fp32").fit().transform(TEXTS[:1])
    np.testing.assert_allclose(vectors[0], by_hand(folder, TEXTS[0], "first"), atol=1e-5)


def test_half_precision_and_truncation(encoder):
    whole = tw.Embeddings(encoder, precision="fp32").transform(TEXTS)
    half = tw.Embeddings(encoder, precision="bf16").transform(TEXTS)
    np.testing.assert_allclose(half, whole, atol=0.05)
    short = tw.Embeddings(encoder, precision="fp32", max_length=4).transform(["the label tree", "the label of a tail"])
    np.testing.assert_allclose(short[0], short[1], atol=1e-5)


def test_nothing_is_encoded_twice(tmp_path):
    model = Counting()
    embeddings = tw.Embeddings(model, cache=tmp_path / "cache", batch_size=2)
    first = embeddings.transform([*TEXTS, TEXTS[0]])
    assert sum(map(len, model.batches)) == len(TEXTS)
    again = embeddings.transform([TEXTS[2], "new", TEXTS[0]])
    assert sum(map(len, model.batches)) == len(TEXTS) + 1
    np.testing.assert_array_equal(again[[0, 2]], first[[2, 0]])
    np.testing.assert_array_equal(first, tw.Embeddings(Counting(), normalise=True).transform([*TEXTS, TEXTS[0]]))


def test_other_settings_have_vectors_of_their_own(encoder, tmp_path):
    for length in (4, 32):
        with_cache = tw.Embeddings(encoder, max_length=length, cache=tmp_path)
        np.testing.assert_array_equal(
            with_cache.transform(TEXTS), tw.Embeddings(encoder, max_length=length, batch_size=64).transform(TEXTS)
        )
    assert len(list(tmp_path.iterdir())) == 2


def test_damaged_files_of_the_cache_count_as_missing(tmp_path, caplog):
    expected = tw.Embeddings(Counting(), cache=tmp_path).transform(TEXTS)
    (path,) = tmp_path.rglob("*.npz")
    path.write_bytes(path.read_bytes()[:-40])
    model = Counting()
    np.testing.assert_array_equal(tw.Embeddings(model, cache=tmp_path).transform(TEXTS), expected)
    assert sum(map(len, model.batches)) == len(TEXTS)
    assert "is damaged and not used" in caplog.text


def test_batches_become_smaller_where_memory_runs_out():
    model = Counting(largest=2)
    vectors = tw.Embeddings(model, batch_size=64, normalise=False).transform(TEXTS)
    np.testing.assert_array_equal(vectors, Counting()(TEXTS))
    assert max(map(len, model.batches)) <= 2
    with pytest.raises(MemoryError):
        tw.Embeddings(Counting(largest=0)).transform(TEXTS)
    assert is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"))
    assert not is_out_of_memory(RuntimeError("shapes differ"))


def test_an_object_with_encode():
    class Sentences:
        def encode(self, texts, show_progress_bar):
            assert not show_progress_bar
            return Counting()(texts)

    vectors = tw.Embeddings(Sentences(), normalise=False).transform(TEXTS)
    np.testing.assert_array_equal(vectors, Counting()(TEXTS))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "model must be a folder, a name, an object with a method encode, or a function. Got int"),
        (lambda texts: np.ones(3), r"model must give a row for each text\. Got shape \(3,\) for 5 texts"),
        (lambda texts: np.full((len(texts), 2), np.nan), "model must give finite numbers. Got NaN or infinity"),
    ],
)
def test_other_models_are_refused(model, message):
    with pytest.raises(InputError, match=message):
        tw.Embeddings(model).transform(TEXTS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "fp64"}, "precision must be"),
        ({"pooling": "max"}, "pooling must be"),
        ({"max_length": 1}, "max_length must be"),
        ({"batch_size": 0}, "batch_size must be"),
    ],
)
def test_invalid_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        tw.Embeddings(Counting(), **options).fit()


def test_incomplete_folders_are_refused(encoder, tmp_path):
    with pytest.raises(FileError, match=r"without config\.json and weights\. Copy or download it again"):
        tw.Embeddings(tmp_path).transform(TEXTS)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(FileError, match=r"Got .* without weights"):
        tw.Embeddings(tmp_path).transform(TEXTS)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(FileError, match="model must be a complete folder of an encoder"):
        tw.Embeddings(tmp_path).transform(TEXTS)
    with pytest.raises(FileError, match=r"model must be a folder that exists, or a name\. Got \./nowhere"):
        tw.Embeddings("./nowhere").transform(TEXTS)


def test_without_a_network_a_message_says_how_to_bring_a_model(monkeypatch):
    transformers = pytest.importorskip("transformers")

    def refuse(name, **options):
        message = "We couldn't connect to the Hub"
        raise OSError(message)

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", refuse)
    with pytest.raises(FileError, match=r"Without a network, download it elsewhere .* and pass its path"):
        tw.Embeddings("somebody/some-model").transform(TEXTS)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"Text models need torch, .* pip install 'tailwise\[text\]'"):
        tw.Embeddings("somebody/some-model").transform(TEXTS)
