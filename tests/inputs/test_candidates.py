"""Whatever form label probabilities come in, the same candidates stand behind them, and the input stays as it was."""

import sys
from types import SimpleNamespace

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwise.engines import Threads
from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import is_integer
from tailwise.inputs.matrices import canonical_csr

DENSE = np.array([[0.875, 0.0, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 1.0]])
# The same entries, in an order that no canonical form has.
TRIPLES = {"instance": [2, 0, 2, 0], "label": [3, 2, 1, 0], "probability": [1.0, 0.25, 0.5, 0.875]}
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
LAYOUTS = [f"{name}_{kind}" for name in FORMATS for kind in ("array", "matrix")]


def entries_of(candidates):
    """All entries as (instance, label, probability), in the order in which they are stored."""
    instances = np.repeat(np.arange(candidates.n_instances), candidates.sizes)
    return list(zip(instances.tolist(), candidates.rows.labels.tolist(), candidates.rows.values.tolist(), strict=True))


def assert_is_dense(candidates, dense=DENSE):
    """The entries are the nonzeros of a dense array, row by row, in the types that kernels are compiled for."""
    i, j = np.nonzero(dense)
    assert entries_of(candidates) == list(zip(i.tolist(), j.tolist(), dense[i, j].tolist(), strict=True))
    assert candidates.shape == dense.shape
    assert candidates.rows.indptr.dtype == np.int64
    assert candidates.rows.labels.dtype == np.int32
    assert candidates.rows.values.dtype in (np.float32, np.float64)


def make_table(library, **columns):
    module = pytest.importorskip(library)
    build = module.table if library == "pyarrow" else module.DataFrame
    return build({**TRIPLES, **columns})


def make_pair(dtype=np.int64):
    """The labels of each row in descending order, padding in between, and a NaN where there is no label."""
    labels = np.array([[2, -1, 0], [-1, -1, -1], [3, 1, -1]], dtype=dtype)
    return labels, np.array([[0.25, np.nan, 0.875], [np.nan] * 3, [1.0, 0.5, np.nan]])


# Dense arrays


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_floats_keep_their_precision(dtype, order):
    candidates = Candidates.of(np.array(DENSE, dtype=dtype, order=order))
    assert_is_dense(candidates)
    assert candidates.rows.values.dtype == dtype


@pytest.mark.parametrize("array", [DENSE.tolist(), DENSE[:, ::-1][:, ::-1]], ids=["list", "view"])
def test_other_dense_forms(array):
    assert_is_dense(Candidates.of(array))


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, ">f4", ">f8"], ids=str)
def test_other_floats_are_converted(dtype):
    assert_is_dense(Candidates.of(DENSE.astype(dtype)))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_integers_and_booleans_are_certain(dtype):
    certain = (DENSE > 0).astype(dtype)
    assert_is_dense(Candidates.of(certain), certain.astype(float))
    assert_is_dense(Candidates.of(sp.csr_array(certain)), certain.astype(float))


@settings(deadline=None)  # a kernel may be compiled in between
@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float64]),
        arrays.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.floats(0, 1, width=32) | st.sampled_from([0.0, 1.0]),
    )
)
def test_any_dense_matrix_comes_back(dense):
    candidates = Candidates.of(dense)
    assert_is_dense(candidates, dense)
    back = candidates.to_csr()
    np.testing.assert_array_equal(back.toarray(), dense, strict=True)
    assert_is_dense(Candidates.of(back), dense)
    assert_is_dense(Candidates.of(sp.csc_array(dense)), dense)
    np.testing.assert_allclose(candidates.condition_positives(), dense.sum(axis=0, dtype=np.float64), rtol=1e-14)


# Sparse matrices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_sparse_layout(layout, dtype):
    candidates = Candidates.of(getattr(sp, layout)(DENSE.astype(dtype)))
    assert_is_dense(candidates)
    assert candidates.rows.values.dtype == dtype


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_half_precision(layout):
    matrix = sp.csr_array(DENSE).asformat(layout)
    matrix.data = matrix.data.astype(np.float16)
    assert_is_dense(Candidates.of(matrix))


@pytest.mark.parametrize("layout", sorted(set(FORMATS) - {"dia"}))  # a diagonal does not tell its zeros from gaps
def test_stored_zeros_stay_candidates(layout):
    matrix = sp.csr_array((np.array([0.0, 0.5]), np.array([0, 2]), np.array([0, 2, 2])), shape=(2, 4)).asformat(layout)
    assert entries_of(Candidates.of(matrix)) == [(0, 0, 0.0), (0, 2, 0.5)]


def make_unsorted(index_type=np.int32):
    """DENSE with the labels of each row in descending order."""
    indices, indptr = np.array([2, 0, 3, 1], dtype=index_type), np.array([0, 2, 2, 4], dtype=index_type)
    return sp.csr_array((np.array([0.25, 0.875, 1.0, 0.5]), indices, indptr), shape=DENSE.shape)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_unsorted_indices_are_sorted(index_type):
    assert_is_dense(Candidates.of(make_unsorted(index_type)))
    assert_is_dense(Candidates.of(sp.csr_matrix(make_unsorted(index_type))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_only_rounding_leads_out_are_taken(dtype):
    dense = np.array([[1.0000001, 0.5], [-1e-7, 1 + 9e-7]], dtype=dtype)
    before = dense.copy()
    csr = sp.csr_array(dense)
    for given_form in (dense, csr):
        candidates = Candidates.of(given_form)
        assert candidates.to_csr().toarray().tolist() == [[1.0, 0.5], [0.0, 1.0]]
        assert candidates.rows.values.dtype == dtype
    np.testing.assert_array_equal(dense, before)
    np.testing.assert_array_equal(csr.toarray(), before)


def test_wide_and_strided_arrays():
    csr = sp.csr_array(DENSE)
    for name in ("indices", "indptr", "data"):
        part = getattr(csr, name)
        wide = np.repeat(part.astype(np.int64 if part.dtype.kind == "i" else part.dtype), 2)
        setattr(csr, name, wide[::2])
    candidates = Candidates.of(csr)
    assert_is_dense(candidates)
    assert all(part.flags.c_contiguous for part in candidates.rows)


# Pairs and tables


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_pair_of_labels_and_values(dtype):
    assert_is_dense(Candidates.of(make_pair(dtype)))
    assert Candidates.of(make_pair(dtype), n_labels=9).shape == (3, 9)


def test_pair_of_unsigned_labels_and_half_precision():
    pair = np.array([[3, 0]], dtype=np.uint16), np.array([[0.5, 0.25]], dtype=np.float16)
    assert entries_of(Candidates.of(pair)) == [(0, 0, 0.25), (0, 3, 0.5)]


def test_pair_without_any_label():
    candidates = Candidates.of((np.full((2, 1), -1), np.zeros((2, 1))), n_labels=3)
    assert candidates.shape == (2, 3)
    assert candidates.sizes.tolist() == [0, 0]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables(library):
    assert_is_dense(Candidates.of(make_table(library)))
    assert_is_dense(Candidates.of(make_table(library, weight=[1, 2, 3, 4])))  # a further column does not matter
    assert Candidates.of(make_table(library), n_labels=9).shape == (3, 9)


def test_pandas_nullable_columns_and_pyarrow_batches():
    assert_is_dense(Candidates.of(make_table("pandas").convert_dtypes()))
    assert_is_dense(Candidates.of(make_table("pyarrow").to_batches()[0]))


# Tensors


class Tensor:
    """What a torch tensor shows of itself: no numpy before it is detached and on the CPU, of bfloat16 never."""

    def __init__(self, parts, shape, layout="strided", dtype=None, ready=()):
        self.parts, self.shape, self.layout, self.ready = parts, shape, layout, frozenset(ready)
        self.dtype = dtype or str(parts[0].dtype)

    def detach(self):
        return Tensor(self.parts, self.shape, self.layout, self.dtype, self.ready | {"detached"})

    def cpu(self):
        return Tensor(self.parts, self.shape, self.layout, self.dtype, self.ready | {"cpu"})

    def float(self):
        parts = [self.parts[0].astype(np.float32), *self.parts[1:]]
        return Tensor(parts, self.shape, self.layout, "float32", self.ready)

    def numpy(self):
        if self.layout != "strided" or self.dtype == "bfloat16" or self.ready != {"detached", "cpu"}:
            msg = "can't convert this tensor to numpy"
            raise TypeError(msg)
        return self.parts[0]

    def _part(self, x):
        part = self.parts[x]
        return Tensor([part], part.shape, dtype=self.dtype if x == 0 else None, ready=self.ready)

    def values(self):
        return self._part(0)

    def col_indices(self):
        return self._part(1)

    def crow_indices(self):
        return self._part(2)

    def _values(self):
        return self._part(0)

    def _indices(self):
        return self._part(1)


@pytest.fixture
def torch(monkeypatch):
    """A stand-in for torch, which is too large to install for a few tests."""
    words = ("strided", "sparse_csr", "sparse_coo", "float16", "bfloat16", "float32", "float64")
    module = SimpleNamespace(Tensor=Tensor, **{word: word for word in words})
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def make_tensor(layout, dtype):
    # numpy has no bfloat16; every probability of DENSE is exact in it, so float32 can hold them meanwhile.
    held = np.float32 if dtype == "bfloat16" else np.dtype(dtype)
    if layout == "strided":
        return Tensor([DENSE.astype(held)], DENSE.shape, layout, dtype)
    csr = make_unsorted(np.int64)
    values = csr.data.astype(held)
    if layout == "sparse_csr":
        return Tensor([values, csr.indices, csr.indptr], DENSE.shape, layout, dtype)
    return Tensor([values, np.array([csr.tocoo().row, csr.indices])], DENSE.shape, layout, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("layout", ["strided", "sparse_csr", "sparse_coo"])
def test_tensors(torch, layout, dtype):
    assert_is_dense(Candidates.of(make_tensor(layout, dtype)))


def test_pair_of_tensors(torch):
    labels, values = make_pair()
    assert_is_dense(Candidates.of((Tensor([labels], labels.shape), Tensor([values], values.shape))))


def test_arrays_beside_torch(torch):
    assert_is_dense(Candidates.of(DENSE))
    assert_is_dense(Candidates.of(sp.csr_array(DENSE)))


def test_duplicates_in_a_tensor_that_is_not_coalesced(torch):
    parts = [np.array([0.1, 0.2]), np.array([[2, 2], [1, 1]])]
    with pytest.raises(InputError, match="Instance 2 holds label 1 twice"):
        Candidates.of(Tensor(parts, DENSE.shape, "sparse_coo"))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_real_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(DENSE, requires_grad=True)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for form in (tensor.to(dtype), tensor.to(dtype).to_sparse_csr(), tensor.to(dtype).to_sparse_coo()):
            assert_is_dense(Candidates.of(form))


# Memory


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_canonical_input_is_not_copied(kind, dtype):
    csr = kind(DENSE.astype(dtype))
    csr.indptr = csr.indptr.astype(np.int64)
    candidates = Candidates.of(csr)
    for part, own in zip(candidates.rows, (csr.indptr, csr.indices, csr.data), strict=True):
        assert np.shares_memory(part, own)


def test_32_bit_row_starts_cost_no_copy_of_the_entries():
    csr = sp.csr_array(DENSE)
    candidates = Candidates.of(csr)
    assert np.shares_memory(candidates.rows.labels, csr.indices)
    assert np.shares_memory(candidates.rows.values, csr.data)


def test_candidates_pass_through():
    candidates = Candidates.of(DENSE)
    assert Candidates.of(candidates) is candidates
    assert Candidates.of(candidates, n_labels=4) is candidates


INPUTS = {
    "dense": lambda: (array := DENSE.copy(), [array]),
    "csr": lambda: (csr := sp.csr_array(DENSE), [csr.data, csr.indices, csr.indptr]),
    "unsorted": lambda: (csr := make_unsorted(), [csr.data, csr.indices, csr.indptr]),
    "unsorted wide": lambda: (csr := make_unsorted(np.int64), [csr.data, csr.indices, csr.indptr]),
    "csc": lambda: (csc := sp.csc_array(DENSE), [csc.data, csc.indices, csc.indptr]),
    "coo": lambda: (coo := make_unsorted().tocoo(), [coo.data, coo.row, coo.col]),
    "integers": lambda: (csr := sp.csr_array((DENSE > 0).astype(int)), [csr.data, csr.indices, csr.indptr]),
    "pair": lambda: (pair := make_pair(), list(pair)),
}


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("top", [None, 1])
def test_inputs_stay_as_they_are(make, top):
    probabilities, parts = make()
    before = [(part.tobytes(), part.dtype, str(part.flags)) for part in parts]
    Candidates.of(probabilities, top=top).condition_positives()
    assert [(part.tobytes(), part.dtype, str(part.flags)) for part in parts] == before


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_read_only_inputs_are_accepted(make):
    probabilities, parts = make()
    for part in parts:
        part.flags.writeable = False
    assert Candidates.of(probabilities).shape == DENSE.shape


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_the_result_is_read_only(make):
    for candidates in (Candidates.of(make()[0]), Candidates.of(make()[0], top=1)):
        for part in candidates.rows:
            with pytest.raises(ValueError, match="read-only"):
                part[0] = 0


def test_to_csr_shares_memory_and_is_read_only():
    candidates = Candidates.of(DENSE)
    csr = candidates.to_csr()
    np.testing.assert_array_equal(csr.toarray(), DENSE)
    assert csr.has_canonical_format
    assert np.shares_memory(csr.data, candidates.rows.values)
    assert np.shares_memory(csr.indices, candidates.rows.labels)
    assert not csr.data.flags.writeable


# Sums and the most probable labels


def test_condition_positives_count_every_label():
    dense = np.array([[0.5, 0.0, 0.25, 0.0], [0.25, 0.0, 0.0, 0.0]])
    assert Candidates.of(dense).condition_positives().tolist() == [0.75, 0.0, 0.25, 0.0]


def test_condition_positives_of_single_precision_are_summed_in_double():
    small = np.full((1000, 1), 0.1, dtype=np.float32)
    assert Candidates.of(small).condition_positives()[0] == pytest.approx(1000 * float(np.float32(0.1)), rel=1e-13)


def keep_top_by_loop(dense, top):
    kept = []
    for i, row in enumerate(dense.tolist()):
        best = sorted((-value, j) for j, value in enumerate(row) if value)[:top]
        kept += [(i, j, -value) for value, j in sorted(best, key=lambda pair: pair[1])]
    return kept


@settings(deadline=None)  # a kernel may be compiled in between
@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=st.sampled_from([0, 0.25, 0.5, 1])
    ),
    st.integers(1, 8),
)
def test_top_against_a_loop_with_ties(dense, top):
    candidates = Candidates.of(dense, top=top)
    assert entries_of(candidates) == keep_top_by_loop(dense, top)
    assert candidates.shape == dense.shape
    assert entries_of(Candidates.of(Candidates.of(dense), top=np.int32(top))) == entries_of(candidates)


def test_sizes_and_repr():
    candidates = Candidates.of(
        sp.csr_array((np.full(1200, 0.5), (np.zeros(1200, int), np.arange(1200))), shape=(2, 1200))
    )
    assert candidates.sizes.tolist() == [1200, 0]
    assert candidates.n_entries == 1200
    assert repr(candidates) == "Candidates(2 instances, 1,200 labels, 1,200 entries)"


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers(value):
    assert is_integer(value)


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, np.array([3])])
def test_no_integers(value):
    assert not is_integer(value)


def test_canonical_csr_names_the_parameter():
    with pytest.raises(InputError, match=r"^truth must be a matrix"):
        canonical_csr(np.zeros(3), "truth")


def test_more_than_the_longest_row_needs_no_room(monkeypatch):
    """Room is taken for rows that lose entries, not for every instance times top."""
    candidates = Candidates.of(sp.random_array((50, 400), density=0.1, random_state=np.random.default_rng(0)))
    kept = candidates.keep_top(2**62)
    assert entries_of(kept) == entries_of(candidates)
    sizes = []
    real = np.empty
    monkeypatch.setattr(np, "empty", lambda shape, *rest, **more: sizes.append(shape) or real(shape, *rest, **more))
    longest = int(candidates.sizes.max())
    candidates.keep_top(longest - 1)
    assert sizes == [((candidates.sizes == longest).sum(), longest - 1)]


def test_candidates_without_entries_keep_none():
    assert Candidates.of(sp.csr_array((3, 4))).keep_top(2).n_entries == 0


@pytest.mark.parametrize("top", [2**63, 99999999999999999999])
def test_a_size_that_nothing_can_have(top):
    with pytest.raises(InputError) as caught:
        Candidates.of(np.eye(3), top=top)
    rule = "top must be an integer of at most 9223372036854775807."
    assert str(caught.value) == f"{rule} Got {top}. Omit it to keep every candidate."


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_labels_are_surveyed_by_any_number_of_threads(workers):
    rng = np.random.default_rng(0)
    matrix = sp.random_array((700, 90), density=0.5, rng=rng, format="csr", dtype=np.float32)
    candidates = Candidates.of(matrix)
    with Threads(workers) as threads:
        sums, by_label = candidates.sum_up(threads), candidates.survey(threads)
    one_by_one = np.zeros(90)
    for label, value in zip(matrix.indices, matrix.data, strict=True):
        one_by_one[label] += value
    np.testing.assert_array_equal(sums, one_by_one)
    np.testing.assert_array_equal(by_label.largest, matrix.max(axis=0).toarray().ravel())
    np.testing.assert_array_equal(by_label.sizes, np.bincount(matrix.indices, minlength=90))
