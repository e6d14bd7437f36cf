"""Who gains? Top-k, a mixture and macro-F1, compared on rare, medium and frequent labels."""

import tailwise as tw

UTILITIES = ("precision", "0.5*precision + 0.5*macro-f1", "macro-f1")


def main() -> None:
    data = tw.datasets.make_long_tail(n_instances=1500, n_labels=1000, labels_per_instance=4, top=50, n_training=5000)
    for utility in UTILITIES:
        selection = tw.select(data.probabilities, utility, k=5)
        metrics = ["precision", "macro-f1", "coverage"]
        found = tw.evaluate(data.truth, selection, metrics, priors=data.priors, bins=(5, 50))
        print(utility)
        print("  " + ", ".join(f"{name} {100 * value:.1f} %" for name, value in found.items()))
        for group in found.by_frequency():
            print(f"  {group.name:16} {group.n_labels:4} labels, macro-F1 {100 * group.macro_f1:5.1f} %")


if __name__ == "__main__":
    main()
