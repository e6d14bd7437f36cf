"""How much macro-F1 is possible for at most two percent less precision? Also plots the whole curve (needs [plot])."""

import tailwise as tw


def main() -> None:
    data = tw.datasets.make_long_tail(n_instances=1000, n_labels=500, labels_per_instance=4, top=50)
    curve = tw.trade_off(data.probabilities, "precision", "macro-f1", k=3, alphas=[0, 0.1, 0.3, 0.5, 0.7, 0.9, 1])
    for point in curve.points:
        print(f"alpha {point.alpha:.1f}: precision {point.first:.4f}, macro-F1 {point.second:.4f} (expected)")
    best = curve.best(max_drop=0.02)
    print(f"take alpha {best.alpha}")
    axes = curve.plot()
    axes.figure.savefig("trade-off.png")
    print("trade-off.png written")


if __name__ == "__main__":
    main()
