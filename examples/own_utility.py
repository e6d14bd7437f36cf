"""A utility of your own: readers ignore a label that is suggested too often.

Each label is worth its recall. If it is suggested more than three times as often as it is expected to be true, every
further multiple halves that value.
"""

import tailwise as tw


def recall_with_fatigue(t: float, q: float, p: float) -> float:
    if p <= 0.0:
        return 0.0
    excess = max(0.0, q / p - 3.0)
    return t / p * 0.5**excess


def main() -> None:
    data = tw.datasets.make_long_tail(n_instances=1000, n_labels=500, labels_per_instance=4, top=50)
    utility = tw.utilities.Utility.from_formula(recall_with_fatigue, name="recall with fatigue")
    print("expected value of the formula, for its own selection and for others:")
    for choice in (utility, "macro-recall", "precision"):
        selection = tw.select(data.probabilities, choice, k=5)
        value = tw.expected_utility(data.probabilities, utility, selection, expectation="semi")
        most = int((selection.to_csr().sum(axis=0)).max())
        print(f"  {choice!s:20} {value:.4f}, the most frequent label suggested {most} times")


if __name__ == "__main__":
    main()
