"""From features to chosen labels: train a label tree, calibrate its probabilities, select, and evaluate."""

import tailwise as tw


def main() -> None:
    data = tw.datasets.make_like("Eurlex-4K", scale=0.1)
    model = tw.LabelTree(random_state=0).fit(data.train_features, data.train_labels)
    calibrator = tw.Calibrator("isotonic").fit_cross_validated(
        tw.LabelTree(random_state=0), data.train_features, data.train_labels, folds=3, top=50
    )
    raw = model.predict_proba(data.test_features, top=50)
    for name, probabilities in {"raw": raw, "calibrated": calibrator.transform(raw)}.items():
        selection = tw.select(probabilities, "macro-f1", k=5)
        error = tw.reliability(probabilities, data.test_labels, k=5).error
        print(f"{name}: expected calibration error {error:.4f}")
        print(tw.evaluate(data.test_labels, selection, ["precision", "macro-f1"], probabilities=probabilities))


if __name__ == "__main__":
    main()
