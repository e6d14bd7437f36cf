"""Draw docs/figures/theory.png: the difference between semi-empirical and exact value, and its bound.

Run by hand: ``python docs/figures/make_theory_figure.py``. Prints the numbers of docs/mathematics/theory.md, too.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tailwise as tw
from tailwise.datasets import make_long_tail
from tailwise.expectations.regret_bounds import approximation_bound

SIZES = (10, 30, 100, 300, 1000, 3000)
K = 3
COLOURS = {"macro-f1": "C0", "macro-recall": "C1"}
NEGLIGIBLE = 1e-18


def draw_frequent_labels(n_instances):
    """Ten labels, each of them true for 10 to 50 percent of the instances."""
    rng = np.random.default_rng(0)
    rates = np.linspace(0.1, 0.5, 10)
    return rng.beta(4 * rates, 4 * (1 - rates), (n_instances, rates.size))


def draw_long_tail(n_instances):
    """300 labels by a Zipf law: most of them true for less than one percent of the instances."""
    data = make_long_tail(n_instances, n_labels=300, labels_per_instance=3, top=40)
    return data.probabilities.toarray().astype(np.float64)


def pmf(probabilities):
    """Chance of each number of positives: the Poisson-binomial law, one instance after the other."""
    chances = np.ones(1)
    for eta in probabilities[probabilities > 0]:
        chances = np.convolve(chances, [1 - eta, eta])
        while chances[-1] < NEGLIGIBLE:
            chances = chances[:-1]
    return chances


def exact_values(probabilities, is_chosen):
    """Exact expected macro-F1 and macro-recall: the sum over all numbers of hits a and of misses b."""
    sums = dict.fromkeys(COLOURS, 0.0)
    for etas, chosen in zip(probabilities.T, is_chosen.T, strict=True):
        hits, misses = pmf(etas[chosen]), pmf(etas[~chosen])
        a, b = np.arange(hits.size)[:, None], np.arange(misses.size)
        sums["macro-f1"] += hits @ (2 * a / np.maximum(chosen.sum() + a + b, 1)) @ misses
        sums["macro-recall"] += hits @ (a / np.maximum(a + b, 1)) @ misses
    return {name: total / probabilities.shape[1] for name, total in sums.items()}


def measure(probabilities):
    """For each utility: |exact - semi| of a selection for semi-empirical macro-F1, and the bound."""
    selection = tw.select(probabilities, "macro-f1", k=K, expectation="semi")
    is_chosen = selection.to_csr().toarray().astype(bool)
    t, q, p = (probabilities * is_chosen).sum(axis=0), is_chosen.sum(axis=0), probabilities.sum(axis=0)
    exact = exact_values(probabilities, is_chosen)
    points = {}
    for name in COLOURS:
        semi = tw.utilities.as_utility(name).psi(t, q, p, n_instances=len(probabilities)).sum()
        points[name] = abs(exact[name] - semi), approximation_bound(probabilities, name)
        print(f"{len(probabilities):6} {name:12} exact {exact[name]:.5f} semi {semi:.5f} bound {points[name][1]:.3g}")
    return points


def draw_panel(axes, title, probabilities):
    """Measured differences and bounds over the first n instances, for each n."""
    print(title)
    measured = [measure(probabilities[:n]) for n in SIZES]
    for name, colour in COLOURS.items():
        errors, bounds = zip(*(points[name] for points in measured), strict=True)
        axes.loglog(SIZES, bounds, "--", color=colour, label=f"{name}: bound")
        axes.loglog(SIZES, errors, "o-", color=colour, label=f"{name}: measured")
    axes.axhline(1, color="0.6", linewidth=1)
    axes.annotate(
        "1: the whole range of both", (SIZES[-1], 1), (0, 3), textcoords="offset points", ha="right", color="0.4"
    )
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("instances in the batch")
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def main():
    """Both panels, side by side, on one scale."""
    figure = Figure(figsize=(10.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw_panel(left, "Frequent labels: true for 10 to 50 %", draw_frequent_labels(SIZES[-1]))
    draw_panel(right, "A long tail: 300 labels by a Zipf law", draw_long_tail(SIZES[-1]))
    left.set_ylabel("|exact - semi-empirical|")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(Path(__file__).with_name("theory.png"), dpi=144)


if __name__ == "__main__":
    main()
