"""Five days of documents, decided day by day: each day on its own, on top of the days before, or all in one call."""

import numpy as np

import tailwise as tw


def main() -> None:
    data = tw.datasets.make_long_tail(n_instances=1000, n_labels=500, labels_per_instance=4, top=50)
    days = np.split(np.arange(1000), 5)
    alone, on_top, so_far = [], [], tw.Totals.nothing(500)
    for day in days:
        probabilities = data.probabilities[day]
        alone.append(tw.select(probabilities, "macro-f1", k=3).labels)
        selection = tw.select(probabilities, "macro-f1", k=3, context=so_far)
        so_far = so_far + selection.totals
        on_top.append(selection.labels)
    print("macro-F1 of all five days, expected and on the true labels:")
    together = tw.select(data.probabilities, "macro-f1", k=3).labels
    selections = {"on its own": np.vstack(alone), "on top": np.vstack(on_top), "in one call": together}
    for name, labels in selections.items():
        expected = tw.expected_utility(data.probabilities, "macro-f1", labels)
        realised = tw.evaluate(data.truth, labels, ["macro-f1"])["macro-f1"]
        print(f"  {name:12} {expected:.4f}  {realised:.4f}")


if __name__ == "__main__":
    main()
