"""No feasible selection is better than the upper bound of a certificate: tiny problems, every selection tried."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from reference import expectations as exact
from reference import optimum, utilities
from reference import selection as reference
from reference.formulas import compiled

import tailwise as tw
from tailwise.utilities import WeightedInstance

LINEAR = (*utilities.LINEAR, "power-law(0.25)")
NONLINEAR = ("macro-precision", "macro-f1", "macro-fbeta(2)", "macro-fbeta(0.5)", "macro-jaccard", "coverage")
MIXTURES = (
    "0.5*macro-f1 + 0.5*coverage",
    "0.3*macro-jaccard + 0.7*precision",
    "macro-f1 + macro-precision + coverage",
    "0.6*macro-fbeta(2) + 0.4*macro-balanced-accuracy",
    "0.2*macro-jaccard + 0.3*macro-f1 + 0.3*coverage + 0.2*hamming",
    "0.5*macro-recall + 0.5*coverage",
    "0.01*log + macro-precision",
)
TEXTS = (*LINEAR, *NONLINEAR, *MIXTURES)
every_text = pytest.mark.parametrize("text", TEXTS)
every_expectation = pytest.mark.parametrize("expectation", ["semi", "exact"])
N_PROBLEMS = 25
ROUNDS = (1, 5, 30)
# Exact values are known to about 1e-6, and a bound stays well on the safe side of that.
ROUNDED_UP = 2e-5


class Problem:
    """A random problem of at most 4 instances and 5 labels, with everything that makes bounds go wrong."""

    def __init__(self, seed, *, max_instances=4):
        self.rng = rng = np.random.default_rng(seed)
        self.seed = seed
        self.n, self.m = min(max_instances, int(rng.choice([1, 2, 3, 4, 4]))), int(rng.choice([1, 2, 3, 4, 5, 5]))
        self.is_candidate = rng.random((self.n, self.m)) < rng.choice([0.4, 0.8, 1.0])
        self.matrix = np.where(self.is_candidate, self._values(), 0.0)
        self.dtype = rng.choice([np.float32, np.float64])
        self.matrix = self.matrix.astype(self.dtype).astype(np.float64)
        self.k = self._budgets()
        self.fill = str(rng.choice(["least-loss", "none"]))
        self.training = reference.random_training(seed, self.m)

    def _values(self):
        """Without order, with ties, certain, impossible (and stored all the same), or tiny."""
        shape, rng = (self.n, self.m), self.rng
        kind = rng.integers(4)
        if kind == 0:
            return rng.beta(0.4, 1.0, shape)
        if kind == 1:
            return rng.choice([0.25, 0.5], shape)
        if kind == 2:
            return rng.choice([0.0, 1.0, 1e-7, 0.5], shape)
        return np.where(rng.random(shape) < 0.5, rng.random(shape), rng.choice([0.0, 1.0, 1e-7, 0.3], shape))

    def _budgets(self):
        kind = self.rng.integers(4)
        if kind == 0 and self.n <= 3:
            return None
        if kind <= 1:
            return self.rng.integers(0, self.m + 1, self.n)
        return int(self.rng.integers(1, self.m + 1))

    @property
    def probabilities(self):
        """With its candidates of probability 0."""
        rows, columns = np.nonzero(self.is_candidate)
        matrix = sp.csr_array((self.matrix[rows, columns].astype(self.dtype), (rows, columns)), shape=(self.n, self.m))
        return tw.Candidates.of(matrix)  # single precision stays as it is

    @property
    def priors(self):
        return tw.LabelPriors(self.training.counts, self.training.n_instances)

    def certify(self, utility, expectation, selection=None, **options):
        options = {"rounds": ROUNDS[self.seed % 3], "target_gap": 0.0, "fill": self.fill, **options}
        return tw.certify(
            self.probabilities, utility, self.k, selection, expectation=expectation, priors=self.priors, **options
        )

    def optimum(self, utility, expectation, **options):
        options = {"is_candidate": self.is_candidate, "training": self.training, **options}
        return optimum.enumerate_optimum(self.matrix, utility, self.k, expectation, self.fill, **options)

    def value(self, utility, expectation, selection):
        """Of lists of labels."""
        table = optimum.tabulate_labels(
            self.matrix, utility, optimum.count_slots(self.k, self.n), expectation, self.training
        )
        return optimum.best_of_all(table, [[frozenset(labels)] for labels in selection])

    def random_selection(self):
        """At most the budget of labels for each instance, candidates or not."""
        budgets = np.broadcast_to(self.m if self.k is None else self.k, self.n)
        sizes = [self.rng.integers(0, budget + 1) if self.rng.random() < 0.4 else budget for budget in budgets]
        return [self.rng.permutation(self.m)[:size].tolist() for size in sizes]

    def __repr__(self):
        return f"Problem({self.seed})"


def seeds_of(text, first, count=N_PROBLEMS):
    """Each utility has problems of its own, so that together they see many."""
    start = first + count * TEXTS.index(text)
    return range(start, start + count)


def as_array(selection):
    """With an empty slot more than is needed, so that it cannot be taken for a 0/1 matrix of one or two labels."""
    width = 1 + max(map(len, selection))
    return np.array([[*labels, *[-1] * (width - len(labels))] for labels in selection])


def assert_sound(certificate, best, problem, expectation):
    assert best <= certificate.upper + 1e-12, problem
    slack = 1e-9 if expectation == "semi" else 1e-9 + 1e-6 * abs(best)
    assert certificate.value <= best + slack, problem
    assert (np.diff(certificate.history) <= 0).all(), problem
    assert certificate.history[-1] == certificate.upper, problem
    assert certificate.gap == certificate.upper - certificate.value, problem


# The selections of tailwise


@every_text
@every_expectation
def test_nothing_is_above_the_bound(text, expectation):
    for seed in seeds_of(text, 10_000):
        problem = Problem(seed)
        certificate = problem.certify(text, expectation)
        assert certificate.expectation == expectation
        assert_sound(certificate, problem.optimum(text, expectation), problem, expectation)


@pytest.mark.boundscheck
@every_text
@every_expectation
@pytest.mark.parametrize("rounds", ROUNDS)
def test_every_number_of_rounds_is_sound(text, expectation, rounds):
    for seed in range(1000, 1004):
        problem = Problem(seed)
        certificate = problem.certify(text, expectation, rounds=rounds)
        assert certificate.rounds <= rounds
        assert_sound(certificate, problem.optimum(text, expectation), problem, expectation)


@every_expectation
@pytest.mark.parametrize("text", LINEAR)
def test_linear_utilities_have_no_gap(text, expectation):
    """The selection is the optimum, and the first prices show it."""
    for seed in range(2000, 2015):
        problem = Problem(seed)
        certificate = problem.certify(text, expectation)
        assert certificate.upper == pytest.approx(certificate.value, rel=ROUNDED_UP, abs=1e-5), problem


@every_text
@every_expectation
def test_without_budget_there_is_no_gap_to_speak_of(text, expectation):
    """Labels decouple, so that all slots are free and the bound adds up what each label can be at best."""
    for seed in range(3000, 3010):
        problem = Problem(seed, max_instances=3)
        problem.k = None
        certificate = problem.certify(text, expectation)
        best = problem.optimum(text, expectation)
        assert_sound(certificate, best, problem, expectation)
        if "coverage" not in text and "jaccard" not in text:  # bounded by their tangents
            assert certificate.upper == pytest.approx(best, rel=ROUNDED_UP, abs=1e-9), problem


@every_text
@every_expectation
def test_given_condition_positives(text, expectation):
    if "accuracy" in text or "hamming" in text:
        pytest.skip("positives outside the candidates may be more than the instances that are left for them")
    for seed in seeds_of(text, 30_000, 10):
        problem = Problem(seed)
        p = np.minimum(problem.n, problem.matrix.sum(axis=0) + problem.rng.choice([0.0, 1e-3, 0.5, 2.0], problem.m))
        certificate = problem.certify(text, expectation, condition_positives=p)
        best = problem.optimum(text, expectation, condition_positives=p)
        assert_sound(certificate, best, problem, expectation)


# Labels with many candidates

ALIKE = [text for text in TEXTS if not any(name in text for name in ("ps-", "power-law", "log"))]


@pytest.mark.parametrize("text", ALIKE)
@pytest.mark.parametrize(("expectation", "n"), [("semi", 150), ("exact", 16)])
@pytest.mark.parametrize("etas", [(0.5, 0.5, 0.01, 0.001), (1.0, 0.7, 1e-7, 0.2)], ids=str)
def test_nothing_is_above_the_bound_where_instances_are_alike(text, expectation, n, etas):
    for k in (1, 2):
        best = optimum.optimum_of_alike(etas, n, text, k, expectation)
        certificate = tw.certify(np.tile(etas, (n, 1)), text, k, expectation=expectation, rounds=10)
        assert best <= certificate.upper + 1e-12
        assert certificate.value <= best + 1e-9 + 1e-6 * abs(best)


def test_the_reference_for_instances_that_are_alike():
    for seed, text in itertools.product(range(6), ("macro-f1", "coverage", "0.3*macro-jaccard + 0.7*precision")):
        rng = np.random.default_rng(seed)
        etas, n, k = rng.random(3), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        for expectation in ("semi", "exact"):
            best = optimum.enumerate_optimum(np.tile(etas, (n, 1)), text, k, expectation, "none")
            assert optimum.optimum_of_alike(etas, n, text, k, expectation) == pytest.approx(best, rel=1e-12)


# Selections of others


@every_text
@every_expectation
def test_any_selection_can_be_certified(text, expectation):
    for seed in seeds_of(text, 20_000, 12):
        problem = Problem(seed, max_instances=3)
        given = problem.random_selection()
        certificate = problem.certify(text, expectation, as_array(given))
        value = problem.value(text, expectation, given)
        assert certificate.value == pytest.approx(value, rel=1e-6, abs=1e-9), problem
        best = problem.optimum(text, expectation, given=given)
        assert_sound(certificate, best, problem, expectation)


@every_expectation
@pytest.mark.parametrize("text", ["hamming", "macro-precision", "macro-f1", "0.5*macro-balanced-accuracy + coverage"])
def test_a_selection_with_empty_slots_is_not_above_its_own_bound(text, expectation):
    """Also where tailwise would fill them, at a cost."""
    for selection in ([[0, -1]], [[-1, -1]], [[0, 2]]):
        certificate = tw.certify(
            np.array([[0.9, 0.0, 0.0]]), text, 2, np.array(selection), expectation=expectation, rounds=5
        )
        assert certificate.value <= certificate.upper


@pytest.mark.parametrize("text", ["precision", "hamming", "macro-f1", "coverage"])
def test_where_nothing_can_be_taken_there_is_no_gap(text):
    for k in ([0, 0], [0, 1]):
        matrix = np.array([[0.9, 0.5], [0.0, 0.0]])
        certificate = tw.certify(matrix, text, k, expectation="semi", fill="none", rounds=3)
        assert certificate.upper == pytest.approx(certificate.value, abs=1e-9)


def test_the_same_selection_in_every_form():
    problem = Problem(4)
    assert problem.m >= 2
    found = tw.select(problem.probabilities, "macro-f1", 2)
    certificates = [
        tw.certify(problem.probabilities, "macro-f1", 2, form, rounds=3)
        for form in (found, found.labels, found.to_csr(), found.to_csr().toarray().astype(bool))
    ]
    assert len({(certificate.value, certificate.upper) for certificate in certificates}) == 1


# Formulas of users


def smoothed_precision(t, q, p):
    return (t + 0.1) / (q + 0.2)


def rewarded_breadth(t, q, p):
    """Every prediction gains something, hit or not: filling slots does not cost but pay."""
    return (t + 0.05 * q) / (p + 1.0)


def costly_f1(t, q, p):
    return 2 * t / (q + p) - 0.05 * q if q + p > 0 else 0.0


def kinked_in_q(t, q, p):
    """Affine in t, though neither convex nor concave in q."""
    return t / (q + p + 1.0) if q <= 2.0 else (t + 0.3) / (2 * q)


FORMULAS = (smoothed_precision, rewarded_breadth, costly_f1, kinked_in_q)


def formula_problem(seed, function):
    """A formula that rises with q may gain by filling, and has no bound then."""
    problem = Problem(seed)
    problem.fill = "none" if function in (rewarded_breadth, kinked_in_q) else problem.fill
    return problem


@pytest.mark.parametrize("function", FORMULAS)
def test_nothing_is_above_the_bound_of_a_formula(function):
    for seed in range(6000, 6000 + N_PROBLEMS):
        problem = formula_problem(seed, function)
        certificate = problem.certify(compiled(function), "semi")
        assert_sound(certificate, problem.optimum(function, "semi"), problem, "semi")


@pytest.mark.parametrize("function", FORMULAS)
def test_nothing_is_above_the_bound_of_a_mixture_with_a_formula(function):
    """The formula at two thirds, beside coverage."""
    for seed in range(7000, 7000 + N_PROBLEMS):
        problem = formula_problem(seed, function)
        utility = 2 / 3 * compiled(function) + 1 / 3 * tw.utilities.Coverage()
        certificate = problem.certify(utility, "semi")
        n_slots = optimum.count_slots(problem.k, problem.n)
        tables = [optimum.tabulate_labels(problem.matrix, part, n_slots, "semi") for part in (function, "coverage")]
        choices = optimum.list_choices(problem.is_candidate, problem.k, problem.fill)
        best = optimum.best_of_all((2 * np.array(tables[0]) + np.array(tables[1])) / 3, choices)
        assert_sound(certificate, best, problem, "semi")


# w00, w01, w10, w11; a false positive may well be worth something.
WEIGHTS = ((0.0, -0.2, 0.0, 1.0), (0.3, 0.5, -1.0, 1.0), (1.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize("weights", WEIGHTS)
@every_expectation
def test_weighted_outcomes(weights, expectation):
    for seed in range(8000, 8015):
        problem = Problem(seed)
        w00, w01, w10, w11 = weights
        n, m = problem.n, problem.m

        def psi(t, q, p, n=n, m=m, w00=w00, w01=w01, w10=w10, w11=w11):
            return (w11 * t + w01 * (q - t) + w10 * (p - t) + w00 * (n - q - p + t)) * m / n

        certificate = problem.certify(WeightedInstance(*weights), expectation)
        best = problem.optimum(psi, expectation)
        assert_sound(certificate, best, problem, expectation)
        assert certificate.upper == pytest.approx(best, rel=ROUNDED_UP, abs=1e-9), problem


@pytest.mark.boundscheck
def test_weights_per_label():
    for seed in range(9000, 9030):
        problem = Problem(seed)
        gains, costs = problem.rng.random(problem.m), -problem.rng.random(problem.m)
        utility = WeightedInstance(w11=gains, w01=costs) + tw.utilities.MacroF1()
        certificate = problem.certify(utility, "semi")
        n_slots = optimum.count_slots(problem.k, problem.n)
        table = np.array(optimum.tabulate_labels(problem.matrix, "macro-f1", n_slots, "semi"))
        for j, number in itertools.product(range(problem.m), range(2**problem.n)):
            is_chosen = [bool(number >> i & 1) for i in range(problem.n)]
            weights = (0.0, costs[j], 0.0, gains[j])
            table[j, number] += utilities.weighted_value(weights, problem.matrix[:, j].tolist(), is_chosen)
        choices = optimum.list_choices(problem.is_candidate, problem.k, problem.fill)
        assert_sound(certificate, optimum.best_of_all(table, choices), problem, "semi")


# The references of these tests


@pytest.mark.parametrize("text", TEXTS)
def test_the_reference_agrees_with_that_of_selections(text):
    for seed in range(12):
        problem = Problem(seed)
        problem.fill = "none"
        mixture = exact.parse(text)
        other = reference.Problem(
            problem.matrix, mixture, problem.k, training=problem.training, is_candidate=problem.is_candidate
        )
        if problem.k is None:
            best = sum(value for value, _ in reference.best_without_budget(other))
        else:
            best = reference.best_value(other)
        assert problem.optimum(text, "semi") == pytest.approx(best, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("text", TEXTS)
def test_the_reference_agrees_with_that_of_exact_values(text):
    for seed in range(4):
        problem = Problem(seed)
        problem.k = 1
        choices = optimum.list_choices(problem.is_candidate, 1, "least-loss")
        values = [
            exact.expect(text, problem.matrix, labels, k=1, training=problem.training, enumerates=True)
            for labels in itertools.product(*choices)
        ]
        problem.fill = "least-loss"
        assert problem.optimum(text, "exact") == pytest.approx(max(values), rel=1e-12, abs=1e-15)


def test_choices():
    is_candidate = np.array([[True, True, False, False], [False, True, False, False], [False, False, False, False]])
    as_lists = [
        [sorted(map(sorted, row)) for row in optimum.list_choices(is_candidate, k, fill)]
        for k, fill in ((2, "none"), (2, "least-loss"), ([1, 0, 1], "least-loss"), (None, "none"))
    ]
    assert as_lists[0] == [[[0, 1]], [[1]], [[]]]
    assert as_lists[1] == [[[0, 1]], [[0, 1], [1, 2], [1, 3]], [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]]
    assert as_lists[2] == [[[0], [1]], [[]], [[0], [1], [2], [3]]]
    assert as_lists[3] == [[[], [0], [0, 1], [1]], [[], [1]], [[]]]


def test_choices_beside_a_given_selection():
    found = [
        sorted(map(sorted, optimum.choices_of({0, 1}, 4, 2, fill, given)))
        for fill, given in (("none", [0, 3]), ("least-loss", [0]), ("none", [0, 1]))
    ]
    assert found == [[[0, 1], [0, 3], [1, 3]], [[], [0], [0, 1], [0, 1], [1]], [[0, 1]]]
    unfilled = optimum.choices_of({0}, 3, 2, "least-loss", [0])
    assert sorted(map(sorted, unfilled)) == [[0], [0, 1], [0, 2]]


def test_nearly_certain_labels_beside_a_context_are_below_the_bound_of_jaccard():
    probabilities = np.array([[1.0, 1.0], [0.0, 1 - 2**-53]])
    context = tw.Totals.of([[1, 0, -1]], truth=sp.csr_array(np.array([[0, 1]])))
    given = {"fill": "none", "expectation": "exact", "context": context}
    certificate = tw.certify(probabilities, "macro-jaccard", 2, [[-1, -1, -1], [-1, -1, -1]], **given)
    # All three are hits. Elsewhere label 0 was selected in vain, and label 1 was hit.
    assert 0.75 - 1e-12 <= certificate.upper <= 0.7501


def test_a_certain_label_is_worth_one_by_exact_jaccard():
    certificate = tw.certify(np.array([[1.0]]), "macro-jaccard", 1, expectation="exact")
    assert certificate.value == pytest.approx(1.0, abs=1e-6)
    assert certificate.upper >= 1.0 - 1e-12


@pytest.mark.parametrize("fill", ["auto", "least-loss", "none"])
def test_candidates_that_lose_more_than_given_labels(fill):
    """The only candidate loses more than one of the labels that are given, and less than the other."""
    weights = [(0.71, 0.36, 1.74), (0.02, 0.15, 0.11), (-0.02, 0.17, -0.08), (1.66, 1.56, 0.44)]
    utility, matrix, given = tw.utilities.WeightedInstance(*weights), np.array([[0.0, 0.0, 0.5]]), [[1, 0, -1]]
    certificate = tw.certify(matrix, utility, 2, given, fill=fill, expectation="semi")
    for chosen in ([[1, 2, -1]], [[0, 2, -1]], given):
        assert certificate.upper >= tw.expected_utility(matrix, utility, chosen, 2, expectation="semi")


CONTEXTS = {
    "Jaccard, certain labels": (
        "macro-jaccard",
        np.array([1.0, 1, 1, 0.999, 1, 0.999, 0.999, 1, 0.5, 1, 0.999, 0.999, 1, 0.999, 1, 1])[:, None],
        tw.Totals.of([[0, -1]], probabilities=np.array([[0.4]])),
    ),
    "F1, known hits in part": ("macro-f1", np.zeros((1, 1)), 0.01 * tw.Totals.of([[0, -1]], truth=np.eye(1))),
    "F3, known hits in part": (
        "0.7*macro-fbeta(3) + 0.3*macro-balanced-accuracy",
        np.full((5, 1), 1e-9),
        0.1 * tw.Totals.of([[-1, -1], [0, -1]], truth=np.array([[0], [1]])),
    ),
}


@pytest.mark.parametrize("case", CONTEXTS)
@pytest.mark.parametrize("n_chosen", [0, 1, 3, 16])
def test_no_selection_is_above_its_bound_with_a_context(case, n_chosen):
    utility, probabilities, context = CONTEXTS[case]
    options = {"expectation": "exact", "context": context}
    is_chosen = np.arange(len(probabilities)) < n_chosen
    chosen = np.stack([np.where(is_chosen, 0, -1), np.full(len(probabilities), -1)], axis=1)
    upper = tw.certify(
        probabilities, utility, (np.arange(len(probabilities)) < max(3, n_chosen)).astype(int), chosen, **options
    ).upper
    assert upper >= tw.expected_utility(probabilities, utility, chosen, **options)
