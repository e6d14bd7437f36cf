"""A utility of your own: a label that is suggested too often is ignored by those who read the suggestions.

Each label is worth its recall, but suggestions beyond three times its expected positives halve it again and again.
"""

import tailwise as tw


def recall_that_tires(t: float, q: float, p: float) -> float:
    if p <= 0.0:
        return 0.0
    excess = max(0.0, q / p - 3.0)
    return t / p * 0.5**excess


def main() -> None:
    data = tw.datasets.make_long_tail(n_instances=1000, n_labels=500, labels_per_instance=4, top=50)
    utility = tw.utilities.Utility.from_formula(recall_that_tires, name="recall that tires")
    print("expected by the formula, of its own selection and of others:")
    for choice in (utility, "macro-recall", "precision"):
        selection = tw.select(data.probabilities, choice, k=5)
        value = tw.expected_utility(data.probabilities, utility, selection, expectation="semi")
        most = int((selection.to_csr().sum(axis=0)).max())
        print(f"  {choice!s:18} {value:.4f}, the most frequent label suggested {most} times")


if __name__ == "__main__":
    main()
