"""From a file of probabilities to a file of chosen labels, and their scores.

python examples/choose_from_a_file.py [PROBABILITIES TRUTH]

Without arguments, it generates a small data set and writes its probabilities and true labels first.
"""

import sys

import tailwise as tw


def make_files() -> tuple[str, str]:
    data = tw.datasets.make_long_tail(n_instances=1000, n_labels=500, labels_per_instance=4, top=50)
    tw.save("probabilities.npz", data.probabilities)
    tw.save("truth.npz", data.truth)
    return "probabilities.npz", "truth.npz"


def main() -> None:
    probabilities, truth = sys.argv[1:] if len(sys.argv) == 3 else make_files()
    selection = tw.select(probabilities, "macro-f1", k=5)
    tw.datasets.save_selection("chosen.npz", selection)
    print(selection)
    print(tw.evaluate(truth, "chosen.npz", ["precision", "macro-f1", "coverage"], probabilities=probabilities))


if __name__ == "__main__":
    main()
