"""Vocabularies: the ids of all labels, with titles in one language."""

from __future__ import annotations

import os
import re
from typing import Any

from tailwise.datasets.formats.csv_tables import decode_line, list_fields, read_header
from tailwise.datasets.formats.disk import input_errors_of, opened_text, without_packing
from tailwise.errors import FileError, InputError, extra_needed
from tailwise.inputs.label_names import LabelNames, bare_uri, load_label_names
from tailwise.inputs.table_columns import list_columns

__all__ = ["read_vocabulary"]

IDS = ("uri", "id", "label", "label_id", "item", "item_id", "subject", "concept")
TITLES = ("title", "name", "preflabel", "label")
GRAPHS = {".ttl": "turtle", ".rdf": "xml", ".nt": "nt", ".jsonld": "json-ld"}


def read_vocabulary(names: Any, language: str | None = None) -> LabelNames | None:
    """Read label names and titles: one per line, CSV with a header in several languages, or SKOS.

    The language is needed if a file has titles in several.

    Lists of names and LabelNames are returned as LabelNames.
    """
    if names is None or isinstance(names, LabelNames):
        return names
    if not isinstance(names, (str, os.PathLike)):
        return LabelNames(names)
    kind = os.path.splitext(without_packing(names))[1]
    if kind in GRAPHS:
        return _read_skos(names, GRAPHS[kind], language)
    if kind == ".csv":
        return _read_csv(names, language)
    if language is not None:
        msg = f"language (--language) is for vocabularies in CSV or SKOS. Got {names}. Omit it."
        raise InputError(msg)
    return load_label_names(names)


def _read_csv(path: Any, language: str | None) -> LabelNames:
    """Read columns such as uri, label_en and label_fi, as Annif's vocabularies have; or uri and title."""
    header, mark = read_header(path)
    lower = [name.lower() for name in header]
    of_ids = next((lower.index(name) for name in IDS if name in lower), None)
    if of_ids is None:
        msg = f"{path} must have a column of label ids, called {', '.join(IDS[:4])}. It has {list_columns(header)}."
        raise FileError(msg)
    of_titles = _find_titles(path, header, lower, of_ids, language)
    with opened_text(path) as file:
        lines = (decode_line(path, line) for line in file)
        rows = list(list_fields(path, lines, mark))[1:]
    rows = [row for row in rows if row]
    short = next((number for number, row in enumerate(rows, 2) if len(row) != len(header)), None)
    if short is not None:
        msg = f"{path}, row {short}: expected {len(header)} fields. Got {len(rows[short - 2])}. Fix the row."
        raise FileError(msg)
    with input_errors_of(path):
        titles = None if of_titles is None else [row[of_titles] for row in rows]
        return LabelNames([bare_uri(row[of_ids].strip()) for row in rows], titles)


def _find_titles(path: Any, header: list[str], lower: list[str], of_ids: int, language: str | None) -> int | None:
    if language is not None:
        wanted = re.compile(rf"(.*[_@.-])?{re.escape(language.lower())}$")
        found = next((place for place, name in enumerate(lower) if place != of_ids and wanted.match(name)), None)
        if found is None:
            rule = f"{path} must have a column of titles in {language!r}, such as label_{language}"
            msg = f"{rule}. It has {list_columns(header)}."
            raise FileError(msg)
        return found
    places = [place for place, name in enumerate(lower) if place != of_ids]
    named = [place for place in places if re.match(rf"({'|'.join(TITLES)})([_@.-].*)?$", lower[place])]
    if len(named) > 1:
        several = ", ".join(header[place] for place in named)
        msg = f"{path} must have titles in one language. It has {several}. Choose a language: --language en."
        raise FileError(msg)
    return named[0] if named else None


def _read_skos(path: Any, kind: str, language: str | None) -> LabelNames:
    """Read the concepts of a SKOS vocabulary with their preferred labels."""
    with extra_needed("Vocabularies in SKOS need rdflib", "'tailwise[skos]'"):
        import rdflib
    with opened_text(path) as file:
        text = file.read()
    try:
        graph = rdflib.Graph().parse(data=text, format=kind)
    except Exception as error:  # each parser of rdflib has its own
        msg = f"{path} must be valid {kind}. Reading it failed: {str(error)[:200]}. Check how it was written."
        raise FileError(msg) from error
    titles = {str(concept): "" for concept in graph.subjects(rdflib.RDF.type, rdflib.SKOS.Concept)}
    languages = set()
    for concept, title in graph.subject_objects(rdflib.SKOS.prefLabel):
        spoken = getattr(title, "language", None)
        languages.add(spoken or "")
        if language in (None, spoken) and str(concept) in titles:
            titles[str(concept)] = str(title)
    if language is None and len(languages) > 1:
        several = ", ".join(sorted(languages))
        msg = f"{path} must have titles in one language. It has {several}. Choose a language: --language en."
        raise FileError(msg)
    names = sorted(titles)
    return LabelNames(names, [titles[name] for name in names])
