"""Draw docs/figures/why.png: what top-k leaves out, and what it costs to include rare labels.

Run by hand: ``python docs/figures/make_why_figure.py FOLDER``, with the extra [plot] and the folder tibkat-gnd-en:
library records with true labels (Y.trn.npz, Y.tst.npz) and the probabilities of a label tree (plt-top100.tst.npz).
Prints the numbers that README.md and docs/concepts/long-tail.md show, too.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tailwise as tw

K = 5
EDGES = (1, 5, 50)
GROUPS = ("0 or 1", "2 to 5", "6 to 50", "over 50")
MIXTURE = "0.5*precision + 0.5*macro-f1"
COLOURS = {"precision": "0.55", MIXTURE: "#7fb3d5", "macro-f1": "#1f618d"}
NAMES = {"precision": "top-k", MIXTURE: "half precision, half macro-F1", "macro-f1": "macro-F1"}
METRICS = ["precision", "macro-f1", "coverage", "catalogue-coverage"]


def share_predicted(evaluation, training_counts):
    """Percent of the labels of each group that are predicted for some instance."""
    is_predicted = evaluation.per_label()["predicted_positives"] > 0
    groups = np.searchsorted(EDGES, training_counts, side="left")
    return [100 * is_predicted[groups == group].mean() for group in range(len(GROUPS))]


def draw_shares(axes, shares):
    """Bars side by side: how many labels of each group appear at all."""
    width = 0.27
    for turn, (utility, values) in enumerate(shares.items()):
        places = np.arange(len(GROUPS)) + (turn - 1) * width
        bars = axes.bar(places, values, width, color=COLOURS[utility], label=NAMES[utility])
        axes.bar_label(bars, fmt="%.0f", fontsize=8, color="0.3")
    axes.set_xticks(range(len(GROUPS)), GROUPS)
    axes.set(xlabel="training records of the label", ylabel="labels predicted at least once, %", ylim=(0, 109))
    axes.set_title("Top-k never predicts most rare labels", loc="left", fontsize=11)
    axes.legend(frameon=False, loc="upper left", fontsize=9)


def draw_curve(axes, curve):
    """Precision against macro-F1 for all mixtures, with the three selections of the other half marked."""
    values = 100 * np.array([(point.first, point.second) for point in curve.points])
    axes.plot(*values.T, color="#7fb3d5", zorder=1)
    axes.plot(*values.T, "o", color="#7fb3d5", markersize=4)
    marked = {0.0: ("precision", -8, 0, "right"), 0.5: (MIXTURE, -8, -4, "right"), 1.0: ("macro-f1", 10, -12, "left")}
    for alpha, (utility, x, y, side) in marked.items():
        place = values[list(curve.alphas).index(alpha)]
        axes.plot(*place, "o", color=COLOURS[utility], markersize=9)
        axes.annotate(NAMES[utility], place, (x, y), textcoords="offset points", ha=side, va="center", fontsize=9)
    axes.set(xlabel=f"precision at {K}, %", ylabel=f"macro-F1 at {K}, %")
    axes.set_title("Most of the gain costs hardly any precision", loc="left", fontsize=11)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)


def main():
    folder = Path(sys.argv[1])
    probabilities, truth = tw.load(folder / "plt-top100.tst.npz"), tw.load(folder / "Y.tst.npz")
    priors = tw.LabelPriors.from_labels(tw.load(folder / "Y.trn.npz"))
    shares = {}
    for utility in COLOURS:
        evaluation = tw.evaluate(truth, tw.select(probabilities, utility, K), METRICS)
        shares[utility] = share_predicted(evaluation, priors.counts)
        print(utility, {name: f"{value:.2%}" for name, value in evaluation.items()}, np.round(shares[utility], 1))
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_shares(left, shares)
    draw_curve(right, tw.trade_off(probabilities, "precision", "macro-f1", K, truth=truth))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("why.png"), dpi=144)


if __name__ == "__main__":
    main()
