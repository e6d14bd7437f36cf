"""Draw docs/figures/certificate.png: how the value of a selection and its upper bound converge.

python docs/figures/make_certificate_figure.py            needs the extra [plot]
"""

from pathlib import Path

import matplotlib.pyplot as plt

import tailwise as tw
from tailwise.datasets import zipf_candidates


def main() -> None:
    probabilities = zipf_candidates(3_809, 3_993, top=100)
    by_rows = tw.select(probabilities, "macro-precision", 3, method="ascent")
    certified = tw.select(probabilities, "macro-precision", 3, certify=True)
    upper = certified.certificate.history
    rounds = range(1, len(upper) + 1)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(rounds, upper, color="tab:red", label="upper bound: no selection is worth more")
    axes.axhline(certified.expected, color="tab:blue", label="the selection that is returned")
    axes.axhline(by_rows.expected, color="tab:gray", linestyle="--", label="row passes alone")
    axes.fill_between(rounds, certified.expected, upper, color="tab:red", alpha=0.08)
    axes.set(xlabel="round", ylabel="expected macro-precision at 3", xlim=(1, len(upper)))
    margin = certified.expected - by_rows.expected + 0.002
    axes.set_ylim(by_rows.expected - margin, min(upper[0], certified.expected + 4 * margin))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(Path(__file__).with_name("certificate.png"), dpi=150)


if __name__ == "__main__":
    main()
