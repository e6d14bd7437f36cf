"""`run`: train, predict, select and evaluate in one call, with a record of all settings."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from sklearn.base import clone

from tailwise import __version__
from tailwise.datasets import load, save
from tailwise.datasets.formats.disk import file_errors_of
from tailwise.datasets.formats.output_folders import claimed_folder
from tailwise.errors import InputError, UtilityError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice, check_seed, check_size
from tailwise.metrics.evaluate import check_propensity
from tailwise.model_names import MODELS
from tailwise.models.calibrator import Calibrator
from tailwise.models.calibrator import check_parameters as check_calibrator
from tailwise.models.choosing import Choice, Wish, choose_model, describe_model, needed_tree, state_options
from tailwise.models.features import LARGEST_SEED
from tailwise.models.on_texts import OnTexts
from tailwise.runs.finished_run import Run, find_finished
from tailwise.runs.model_steps import describe_fitted, fit_calibrator, name_labels
from tailwise.runs.record import Stopwatch, describe_selection, describe_versions, identify
from tailwise.runs.run_config import describe_config
from tailwise.runs.run_data import RunData, TextColumns, read_data
from tailwise.runs.run_folder import MODEL_FILE, RUN_KIND, RUN_RECORD
from tailwise.runs.steps import Steps, kept_steps
from tailwise.selection import Selection, select
from tailwise.selection.observer import check_max_seconds
from tailwise.selection.resolve import METHODS, check_options
from tailwise.utilities import LabelPriors, Utility, as_utility

ON_TREE = "tree"
STARTS = ("top", "random", "greedy")
# Options of `select` that a run sets itself, or that its record could not hold.
SET_BY_THE_RUN = ("priors", "progress", "on_interrupt", "context", "engine", "on_pass")


def run(
    data: Any,
    utility: Utility | str,
    k: int | None,
    *,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    model: Any = None,
    model_options: Mapping[str, Any] | None = None,
    embeddings: Any = None,
    text_column: str | Sequence[str] = "text",
    label_column: str | None = None,
    label_names: Any = None,
    language: str | None = None,
    top: int = 100,
    beam: int | None = None,
    calibration: Calibrator | str | None = None,
    folds: int = 5,
    propensity: tuple[float, float] | None = None,
    method: str = "auto",
    certify: bool = False,
    seed: int = 0,
    workers: int | None = None,
    progress: bool = False,
    **options: Any,
) -> Run:
    r"""Train a model, predict the test instances, choose their labels, and evaluate the selection.

    The model estimates :math:`\eta_{ij} = P(y_{ij} = 1 \mid x_i)` for the ``top`` most probable labels of each test
    instance; :func:`select` chooses k of them to maximise the expected utility of the whole test set. All options are
    checked before the training.

    Parameters
    ----------
    data : path, mapping or object
        A folder with a data set in any layout that :func:`tailwise.datasets.open_folder` reads; or ``X``, ``Y``,
        ``X_test`` and, if known, ``Y_test`` and ``label_names``, as keys or attributes. X and X_test are matrices,
        :class:`SideBySide`, lists of texts, or tables of columns of texts; Y and Y_test are 0/1 matrices, or lists of
        the names of labels. The index of a pandas X_test names the instances, unless it is a nameless 0, 1, 2, ...
        Without ``Y_test`` nothing is evaluated.
    utility : Utility or str
        What to maximise, as for :func:`select`; priors are those of the training labels.
    k : int or None
        Labels per instance, or None for no budget.
    output : path, optional
        A folder for the results (:meth:`Run.save`). Finished steps are kept there until the run is complete; the same
        call with the same data resumes from them, or returns the finished run. A folder with other options or data is
        refused.
    overwrite : bool
        Whether to replace the folder of an earlier run; other files in it are left alone.
    model : {"tree", "neighbours", "ensemble", "text"} or Model, optional
        The model to train, by name or as an object that is copied; threads, seed and progress are those of the run. By
        default an ensemble of a label tree and nearest neighbours, on TF-IDF features if X holds texts; a label tree
        for fewer than 50 training instances and for ``method="tree"``.
    model_options : dict, optional
        Parameters of a model that is given by name; for its parts, put their name in front: ``tree__C`` for a member,
        ``features__words`` for :class:`TextFeatures`, ``embeddings__max_length`` for :class:`Embeddings`.
    embeddings : Embeddings, str, path or callable, optional
        A text encoder, or its name. The default ensemble then also has neighbours by its vectors and a classifier
        (:class:`TextModel`).
    text_column, label_column : str, or several of texts
        Columns of texts and labels, in folders with train.csv, train.tsv or train.jsonl; several columns of texts,
        ``"title,abstract"``, make one text. Labels are in a column named labels, subjects, subject_uris or tags by
        default.
    label_names, language : path or sequence of str, str, optional
        Names of the labels, in place of those in the data; the language of the titles, if a vocabulary has several.
    top : int
        Length of the shortlists.
    beam : int, optional
        Beam width of the prediction by a label tree, the number of nodes kept per level: faster, but not exact.
        Default: exact search.
    calibration : Calibrator or str, optional
        How to calibrate the probabilities: a method of :class:`Calibrator`, or an unfitted calibrator.
    folds : int
        Number of folds of the cross-validation that fits the calibrator.
    propensity : (float, float), optional
        a and b of propensity-scored metrics and utilities. Default: those of the benchmark that the sizes of the data
        match, if any, otherwise 0.55 and 1.5.
    method, certify : str, bool
        As for :func:`select`; ``method="tree"`` selects greedily on the tree itself, without shortlists.
    seed : int
        Seed of the training, the folds and the selection.
    workers : int, optional
        Number of threads; by default all cores. Results do not depend on it.
    progress : bool
        Whether to show progress bars on standard error.
    **options
        Other options of :func:`select`, for instance ``expectation``, ``init`` (by name), ``tolerance``,
        ``max_passes``, ``max_seconds``, ``fill`` and ``condition_positives``.

    Returns
    -------
    Run
        With ``model``, ``calibrator``, ``probabilities``, ``selection``, ``evaluation``, ``baseline`` (the k most
        probable labels), ``record`` and ``seconds``.

    Examples
    --------
    >>> import tailwise as tw
    >>> drawn = tw.datasets.make_like("Eurlex-4K", scale=0.02)
    >>> data = dict(X=drawn.train_features, Y=drawn.train_labels, X_test=drawn.test_features, Y_test=drawn.test_labels)
    >>> run = tw.run(data, "macro-f1", k=3)
    >>> run.selection.labels.shape
    (76, 3)
    >>> run.evaluation["macro-f1"] > run.baseline["macro-f1"]
    True
    """
    search = _read_search(method=method, certify=certify, seed=seed, workers=workers, **options)
    wish = Wish(model, model_options, embeddings, on_tree=method == ON_TREE)
    calibrator = _prepare(model, calibration, seed)
    text_column = text_column if isinstance(text_column, str) else ",".join(text_column)
    watch, columns = Stopwatch(), TextColumns(text_column, label_column, label_names, language)

    def specify() -> _Task:
        with watch.measure("load"):
            found = read_data(data, columns=columns)
        found.check_names()
        choice = choose_model(wish, found.rows, found.Y.shape[0])
        choice.model.set_params(random_state=seed, n_jobs=workers, progress=progress)
        priors, chosen = LabelPriors.from_labels(found.Y), found.propensity if propensity is None else propensity
        wanted = as_utility(utility, priors, chosen)
        _check_readable(wanted, priors, chosen)
        task = _Task(found, priors, wanted, k, choice, calibrator, folds, top, beam, chosen, search, columns, progress)
        task.check()
        return task

    may_be_finished = output is not None and not overwrite and (Path(output) / RUN_RECORD).is_file()
    task = specify() if may_be_finished else None
    if task is not None and output is not None and (finished := find_finished(output, task.identity)) is not None:
        return finished
    claimed = nullcontext() if output is None else claimed_folder(output, RUN_KIND, overwrite=overwrite)
    with claimed as draft:
        task = task or specify()
        with kept_steps(output, task.identity, overwrite=overwrite) as steps:
            watch.seconds = {**steps.seconds, **watch.seconds}
            made = _make(task, steps, watch)
            if output is not None and draft is not None:
                with file_errors_of(output):
                    made.write(draft, describe_config(data, task.configuration, task.model_options, seed))
    return made


@dataclass(frozen=True, eq=False)
class _Task:
    """The data and all options of a run."""

    data: RunData
    priors: LabelPriors
    utility: Utility
    k: int | None
    choice: Choice
    calibrator: Calibrator | None
    folds: int
    top: int
    beam: int | None
    propensity: tuple[float, float]
    search: dict[str, Any]
    columns: TextColumns
    progress: bool

    @property
    def is_on_tree(self) -> bool:
        return self.search["method"] == ON_TREE

    @property
    def is_timed(self) -> bool:
        return self.search["max_seconds"] is not None

    @property
    def model(self) -> Any:
        return self.choice.model

    @property
    def model_options(self) -> tuple[dict[str, Any], str | None] | None:
        """Options and encoder that describe the model on the command line; None if they cannot."""
        return state_options(self.choice, self.data.rows)

    @property
    def select_options(self) -> dict[str, Any]:
        return {"priors": self.priors, "progress": self.progress, **self.search}

    def check(self) -> None:
        """Check all options before the training."""
        check_size("top", self.top)
        if self.beam is not None:
            check_size("beam", self.beam)
        if self.beam is not None or self.is_on_tree:
            needed_tree(self.choice)
        check_size("folds", self.folds, 2)
        check_propensity(self.propensity)
        check_choice("method", self.search["method"], (*METHODS, ON_TREE))
        check_choice("init", self.search["init"], STARTS)
        n_labels = self.data.Y.shape[1]
        if self.k is not None:
            check_size("k", self.k, 1, n_labels)
        if not self.is_on_tree:
            check_options(self.utility, self.k, n_labels=n_labels, priors=self.priors, **self.search)
            check_max_seconds(self.search["max_seconds"])
        elif self.calibrator is not None or self.search["certify"] or self.k is None or self.is_timed:
            msg = (
                "method='tree' (--method tree) needs a budget k, and supports neither calibration nor certify nor "
                "max_seconds. Change these options, or use method='auto' (--method auto)."
            )
            raise InputError(msg)

    @property
    def configuration(self) -> dict[str, Any]:
        """The options as stored in the record."""
        calibrator = self.calibrator
        return {
            "utility": str(self.utility),
            "k": self.k,
            "top": self.top,
            "beam": self.beam,
            "propensity": self.propensity,
            **self.columns.describe(),
            "model": {"name": self.choice.name, "parameters": describe_model(self.model)},
            "calibration": None if calibrator is None else {**calibrator.get_params(), "folds": self.folds},
            "selection": {name: value for name, value in self.search.items() if name != "seed"},
        }

    @property
    def identity(self) -> dict[str, Any]:
        """The values that must be equal to resume an unfinished run; the number of threads may differ."""
        return identify(self.configuration, self.search["seed"], self.data.inputs, __version__)


def _read_search(**given: Any) -> dict[str, Any]:
    """Return all options of `select`, with defaults for those not given."""
    parameters = inspect.signature(select).parameters.values()
    defaults = {
        each.name: each.default
        for each in parameters
        if each.kind is each.KEYWORD_ONLY and each.name not in SET_BY_THE_RUN
    }
    strange = next((name for name in given if name not in defaults), None)
    if strange is not None:
        msg = f"run() got an unexpected keyword argument {strange!r}"
        raise TypeError(msg)
    return {**defaults, **given}


def _prepare(model: Any, calibration: Calibrator | str | None, seed: int) -> Calibrator | None:
    """Check everything that does not need data; return an unfitted copy of the calibrator."""
    check_seed(seed, LARGEST_SEED)
    if isinstance(model, str):
        check_choice("model", model, tuple(MODELS))
    if calibration is None:
        return None
    calibrator = clone(Calibrator(calibration) if isinstance(calibration, str) else calibration)
    check_calibrator(calibrator.set_params(random_state=seed))
    return calibrator


def _check_readable(utility: Utility, priors: LabelPriors, propensity: tuple[float, float]) -> None:
    """Refuse a utility that the record of the run could not name."""
    try:
        is_readable = as_utility(str(utility), priors, propensity) == utility
    except UtilityError:
        is_readable = False
    if not is_readable:
        msg = (
            f"utility must have a name that run.json can store. Got {utility}. "
            "Run with a named utility, then use select(run.probabilities, utility, k)."
        )
        raise UtilityError(msg)


def _make(task: _Task, steps: Steps, watch: Stopwatch) -> Run:
    """Run every step that is not finished yet."""
    data = task.data
    model = _train(task, steps, watch)
    calibrator = _calibrate(task, model, steps, watch)
    probabilities = None if task.is_on_tree else _predict(task, model, calibrator, steps, watch)
    with watch.measure("select"):
        selection = _select(task, model, probabilities)
    facts = {
        "configuration": task.configuration,
        "seed": task.search["seed"],
        "model": describe_fitted(task.choice, model),
        "versions": describe_versions(),
        "inputs": data.inputs,
        "shapes": {"X.trn": data.X.shape, "Y.trn": data.Y.shape, "X.tst": data.X_test.shape},
        "seconds": watch.seconds,
        "selection": describe_selection(selection),
    }
    found = (model, calibrator, probabilities, selection, task.priors)
    made = Run(*found, data.Y_test, data.label_names, facts, data.instance_names)
    if data.Y_test is not None:
        with watch.measure("evaluate"):
            _ = made.evaluation, made.baseline
    evaluation, baseline = made.evaluation, made.baseline
    facts["metrics"] = None if evaluation is None else evaluation.to_dict()
    facts["expected_metrics"] = None if evaluation is None else evaluation.expected
    facts["top_k_metrics"] = None if baseline is None else baseline.to_dict()
    return made


def _train(task: _Task, steps: Steps, watch: Stopwatch) -> Any:
    found = steps.find(MODEL_FILE, type(task.model).load)
    if found is not None:
        return found.set_params(n_jobs=task.model.n_jobs, progress=task.progress)
    with watch.measure("train"):
        task.model.fit(task.data.X, task.data.Y)
        name_labels(task.model, task.data.label_names)
    steps.keep(MODEL_FILE, task.model.save, watch.seconds)
    return task.model


def _calibrate(task: _Task, model: Any, steps: Steps, watch: Stopwatch) -> Calibrator | None:
    if task.calibrator is None:
        return None
    found = steps.find("calibrator.npz", Calibrator.load)
    if found is not None:
        return found
    with watch.measure("calibrate"):
        data, options = task.data, {"folds": task.folds, "top": task.top}
        fit_calibrator(task.calibrator, model, data.X, data.Y, **options)
    steps.keep("calibrator.npz", task.calibrator.save, watch.seconds)
    return task.calibrator


def _predict(task: _Task, model: Any, calibrator: Calibrator | None, steps: Steps, watch: Stopwatch) -> sp.csr_array:
    found = steps.find("probabilities.npz", load)
    if found is not None:
        return found
    with watch.measure("predict"):
        beam = {} if task.beam is None else {"beam": task.beam}
        probabilities = model.predict_proba(task.data.X_test, top=task.top, **beam)
        if calibrator is not None:
            probabilities = calibrator.transform(probabilities)
    steps.keep("probabilities.npz", lambda path: save(path, probabilities), watch.seconds)
    return probabilities


def _select(task: _Task, model: Any, probabilities: sp.csr_array | None) -> Selection:
    names, ids = task.data.label_names, task.data.instance_names
    if probabilities is None:
        return replace(_select_on_tree(task, model), label_names=names, instance_ids=ids)
    candidates = Candidates.of(probabilities).with_names(names, ids).widened()
    return select(candidates, task.utility, task.k, **task.select_options)


def _select_on_tree(task: _Task, model: Any) -> Selection:
    assert task.k is not None
    options = {name: task.search[name] for name in ("seed", "condition_positives")}
    tree, rows = model, task.data.X_test
    if isinstance(model, OnTexts):
        tree, rows = model.model_, model.transform(rows)
    return tree.select(rows, task.utility, task.k, method=ON_TREE, **options)
