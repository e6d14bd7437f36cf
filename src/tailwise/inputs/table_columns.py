"""The columns of a table: which of them hold instances, labels and probabilities, and their values as numbers.

Tables of any library that narwhals knows are read: pandas, polars, pyarrow, dask and others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from numbers import Integral, Number, Real
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.ids import Ids, is_missing
from tailwise.inputs.label_names import is_text
from tailwise.inputs.value_numbers import ValueNumbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LIBRARIES",
    "PARTS",
    "USUAL",
    "choose_columns",
    "column_values",
    "describe_columns",
    "factorise",
    "is_table",
    "library_of",
    "list_columns",
    "open_table",
    "suggest_columns",
]

LIBRARIES = (
    *("pandas", "polars", "pyarrow", "modin", "cudf", "duckdb", "ibis", "pyspark", "sqlframe"),
    *("dask", "dask_expr"),  # where older versions of Dask have their tables
)
# Usual names of the column of each part, the most certain first.
PARTS = {
    "instance": (
        *("instance", "instance_id", "user", "user_id", "userid", "customer_id", "doc", "doc_id", "document"),
        *("document_id", "query", "query_id", "record", "record_id", "id"),
    ),
    "label": ("label", "label_id", "item", "item_id", "itemid", "product", "product_id", "sku", "subject", "uri"),
    "probability": ("probability", "score", "weight", "prob", "value", "relevance", "relevant", "target", "rating"),
    "rank": ("rank",),
}
USUAL = {"instance": "user_id", "label": "item_id", "probability": "score"}  # an example of a header


def is_table(value: Any) -> bool:
    """Whether a value is a table or a column of one of the libraries, none of which needs to be installed."""
    return type(value).__module__.partition(".")[0] in LIBRARIES


def library_of(value: Any) -> str:
    """The library of a table, as users call it."""
    return type(value).__module__.partition(".")[0].removesuffix("_expr")


def open_table(table: Any, name: str) -> Any:
    """Return a table of any library as a narwhals data frame in memory; all column names are text."""
    import narwhals as nw

    if library_of(table) == "pyarrow" and hasattr(table, "schema"):
        import pyarrow

        if not isinstance(table, pyarrow.Table):  # a batch, or a reader of batches
            batches = [table] if isinstance(table, pyarrow.RecordBatch) else list(table)
            table = pyarrow.Table.from_batches(batches, schema=table.schema)
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        _refuse_double(table, name, error)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        rule = "must have the columns instance, label, probability"
        is_indexed = getattr(getattr(table, "index", None), "nlevels", 1) > 1
        remedy = "Use .reset_index() to make columns of its index." if is_indexed else "Give the whole table."
        msg = f"{name} as a table {rule}. Got a single column, a {type(table).__name__}. {remedy}"
        raise InputError(msg)
    return frame


def _refuse_double(table: Any, name: str, error: Exception) -> NoReturn:
    names = list(getattr(table, "column_names", table.columns))
    double = next(column for column in names if names.count(column) > 1)
    msg = (
        f"{name} as a table must have columns of different names. Got {double!r} {names.count(double)} times. "
        "Rename or drop all but one of them."
    )
    raise InputError(msg) from error


def choose_columns(columns: Mapping[str, str] | Sequence[str] | None, names: list[Any], source: str) -> dict[str, Any]:
    """Map parts (instance, label, probability, rank) to columns: those given, else those with a usual name."""
    given = _as_mapping(columns)
    strange = next((column for column in given.values() if column not in names), None)
    if strange is not None:
        msg = f"{source} must have the column {strange!r}. It has {list_columns(names)}."
        raise InputError(msg)
    _refuse_shared(given, names, source)
    by_name = {str(column).lower(): column for column in reversed(names)}
    found = dict(given)
    for part, usual in PARTS.items():
        column = next(
            (by_name[each] for each in usual if each in by_name and by_name[each] not in found.values()), None
        )
        if part not in found and column is not None:
            found[part] = column
    return {part: found[part] for part in PARTS if part in found}


def _refuse_shared(given: Mapping[str, Any], names: list[Any], source: str) -> None:
    """Refuse one column for two parts, such as items for both instances and labels."""
    for (one, column), (other, another) in combinations(given.items(), 2):
        if column == another:
            msg = (
                f"{one} and {other} name the same column of {source}, {column!r}. Name a column for each. "
                f"It has {list_columns(names)}."
            )
            raise InputError(msg)


def _as_mapping(columns: Mapping[str, str] | Sequence[str] | None) -> dict[str, Any]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        if isinstance(columns, str) or not 2 <= len(columns) <= len(PARTS):
            msg = f"columns must name those of instances, labels and, if there are any, values. Got {columns!r}."
            raise InputError(msg)
        columns = dict(zip(PARTS, columns, strict=False))
    unknown = next((part for part in columns if part not in PARTS), None)
    if unknown is not None:
        msg = f"columns must name the parts {', '.join(PARTS)}. Got {unknown!r}."
        raise InputError(msg)
    return {part: column for part, column in columns.items() if column is not None}


def describe_columns(found: Mapping[str, Any], chosen: Collection[str]) -> tuple[str, ...]:
    """Describe which columns are read, unless their names or the caller already make it clear."""
    guessed = {part: column for part, column in found.items() if part not in chosen and column != part}
    if not guessed:
        return ()
    text = ", ".join(f"{part} from {column!r}" for part, column in guessed.items())
    return (f"Columns found by name: {text}.",)


def list_columns(names: Sequence[Any]) -> str:
    """The columns of a table, for error messages."""
    some = ", ".join(map(str, names[:20]))
    return f"{some}, and {len(names) - 20:,} more" if len(names) > 20 else some or "no columns"


def suggest_columns(names: Sequence[Any], found: Mapping[str, Any], parts: Sequence[str]) -> dict[str, str]:
    """Suggest a column for each part in error messages: the one that was found, otherwise the next unused one."""
    rest = [name for name in names if name not in found.values()]
    given = {part: found[part] if part in found else rest.pop(0) for part in parts if part in found or rest}
    is_enough = "instance" in given and "label" in given
    return {part: str(column) for part, column in given.items()} if is_enough else {part: USUAL[part] for part in parts}


def column_values(frame: Any, column: Any, what: str) -> NDArray:
    """Return a column of numbers; missing ones are NaN."""
    series = frame[column]
    if series.dtype.is_numeric() or str(series.dtype) == "Boolean":
        values = series.to_numpy()
        return values.astype(np.float64) if values.dtype == object else values
    msg = f"{what} must hold numbers. Got a column {column!r} of type {series.dtype}. Convert it to float32 or float64."
    raise InputError(msg)


def factorise(frame: Any, column: Any, part: str, source: str) -> tuple[NDArray, Ids]:
    """Return a number for each row, in order of appearance, and the ids that these numbers stand for."""
    codes, values = _encode(frame[column])
    missing = np.flatnonzero(codes < 0)
    if missing.size == 0 and values.dtype.kind in "OfMm":  # NaN is a value to some libraries
        odd = next((code for code, value in enumerate(values) if is_missing(value)), None)
        missing = missing if odd is None else np.flatnonzero(codes == odd)
    if missing.size:
        msg = (
            f"{source} must have an id in every row of the column {column!r}. {missing.size:,} are missing, the first "
            f"in row {missing[0]}. Drop these rows, or name them."
        )
        raise InputError(msg)
    _refuse_surrogates(codes, values, column, source)
    _refuse_equal_numbers(frame[column], codes, values, source)
    return codes.astype(np.int32, copy=False), Ids(values, part, by_appearance=True)


def _refuse_surrogates(codes: NDArray, values: NDArray, column: Any, source: str) -> None:
    """Refuse text that no file and no other table could hold."""
    texts = [value for value in values.tolist() if isinstance(value, str)] if values.dtype == object else []
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        odd = next(code for code, value in enumerate(values) if isinstance(value, str) and not is_text(value))
        msg = (
            f"{source} must hold text that can be encoded in the column {column!r}. Got {values[odd]!r} in row "
            f"{np.flatnonzero(codes == odd)[0]}. Remove its unpaired surrogates."
        )
        raise InputError(msg) from None


def _refuse_equal_numbers(series: Any, codes: NDArray, values: NDArray, source: str) -> None:
    """Refuse 1, 1.0 and True in one column: they are equal in Python, and would silently become one id."""
    if values.dtype != object or not any(isinstance(value, Number) for value in values.tolist()):
        return
    kinds, column = [_kind_of_number(value) for value in values.tolist()], series.to_list()
    if len(set(map(type, column))) == 1:
        return
    for row, (code, value) in enumerate(zip(codes.tolist(), column, strict=True)):
        if _kind_of_number(value) != kinds[code]:
            first = int(np.flatnonzero(codes == code)[0])
            msg = (
                f"{source} must hold different ids in the column {series.name!r}, or the same in one type. Got "
                f"{values[code]!r} in row {first} and {value!r} in row {row}, which are equal. Convert the column to "
                "one type, or to text."
            )
            raise InputError(msg)


def _kind_of_number(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "truth"
    if isinstance(value, Integral):
        return "integer"
    return "real" if isinstance(value, Real) else type(value).__name__ if isinstance(value, Number) else ""


def _encode(series: Any) -> tuple[NDArray, NDArray]:
    """Number the values of a column in order of appearance, -1 where they are missing; return numbers and values."""
    native = series.to_native()
    if series.implementation.is_pandas_like() and not _is_arrow_text(native):
        codes, values = series.implementation.to_native_namespace().factorize(native)
        return codes, np.asarray(values)
    try:
        import pyarrow
    except ImportError:
        return _encode_plainly(series.to_list())
    column = series.to_arrow()
    column = pyarrow.chunked_array([column]) if isinstance(column, pyarrow.Array) else column
    if str(column.type) in ("string", "large_string") and column.null_count == 0:
        return _number_texts(column.chunks)
    if not pyarrow.types.is_dictionary(column.type):
        return _read_dictionary(column.dictionary_encode())
    codes, values = _merge_equal(*_read_dictionary(column.unify_dictionaries()))
    if (codes < 0).any():
        return codes, values
    # The dictionary of a categorical column may hold values that no row has, in any order.
    codes, used = _read_dictionary(pyarrow.chunked_array([codes]).dictionary_encode())
    return codes, values[used]


def _is_arrow_text(column: Any) -> bool:
    """Whether a column of pandas holds text in the memory of pyarrow, which numbers it faster than pandas."""
    return getattr(column.dtype, "storage", None) == "pyarrow"


def _number_texts(chunks: Sequence[Any]) -> tuple[NDArray, NDArray]:
    numbers = ValueNumbers("text")
    codes = [numbers.number(chunk) for chunk in chunks]
    return np.concatenate([np.zeros(0, np.int32), *codes]), _as_objects(numbers.values(0, len(numbers)))


def _read_dictionary(column: Any) -> tuple[NDArray, NDArray]:
    if column.num_chunks == 0:
        return np.zeros(0, np.int32), np.zeros(0, object)
    codes = np.concatenate([chunk.indices.fill_null(-1) for chunk in column.chunks])
    values = column.chunk(0).dictionary  # the chunks share one dictionary
    is_integer = str(values.type).startswith(("int", "uint")) and not values.null_count
    return codes, np.asarray(values) if is_integer else _as_objects(values.to_pylist())


def _merge_equal(codes: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
    """Give equal values of a dictionary one code; pyarrow lets a dictionary hold a value twice."""
    numbers, once = _encode_plainly(values.tolist())
    if once.size == values.size:
        return codes, values
    return np.where(codes < 0, -1, numbers[codes]), once if values.dtype == object else once.astype(values.dtype)


def _as_objects(values: Sequence[Any]) -> NDArray:
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return array


def _encode_plainly(values: Sequence[Any]) -> tuple[NDArray, NDArray]:
    """Like `_encode`, without any table library."""
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.int64, len(values))
    return codes, _as_objects(list(numbers))
