"""The page about any selection: what it holds, hostile names, and what a browser shows."""

import json
import re
import shutil

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import save, zipf_candidates
from tailwise.errors import FileError, InputError

PROBABILITIES = zipf_candidates(40, 20, 8)
TRUTH = (np.random.default_rng(0).random((40, 20)) < PROBABILITIES.toarray()).astype(np.int8)
NAMES = ["</script><script>document.title='taken'</script>", "=HYPERLINK(1)", *(f"Subject {j}" for j in range(2, 20))]
TEXTS = ["<img src=x onerror=alert(1)>", *(f"Record about {i}" for i in range(1, 40))]
SELECTION = tw.select(PROBABILITIES, "macro-f1", 3, fill="none")


def read_data(page):
    return json.loads(re.search(r'id="records-data">(.*?)</script>', page, re.DOTALL)[1])


def make(**options):
    return tw.report(PROBABILITIES, SELECTION, truth=TRUTH, priors=TRUTH, texts=TEXTS, **options)


def test_gains_are_those_of_the_explanations():
    data = read_data(make())
    for i in (0, 5):
        found = SELECTION.explain(i, others=3)
        for part, reasons in (("own", found.labels), ("others", found.others)):
            rows = np.reshape(data[part][i], (-1, 4))
            assert rows[:, 0].tolist() == [reason.label for reason in reasons]
            assert rows[:, 2].tolist() == [reason.rank for reason in reasons]
            np.testing.assert_allclose(rows[:, 3], [reason.gain for reason in reasons], rtol=0.01)
    assert data["labels"]["chosen"] == np.bincount(SELECTION.labels.ravel(), minlength=20).tolist()
    assert data["labels"]["training"] == TRUTH.sum(axis=0).tolist()
    assert [set(row) for row in data["truth"]] == [set(np.flatnonzero(row)) for row in TRUTH]
    assert data["top"] == tw.select(PROBABILITIES, "precision", 3, fill="none").labels.tolist()


def test_the_summary_compares_with_top_k():
    page = make()
    value = tw.evaluate(TRUTH, SELECTION)["macro-f1"]
    assert f'<td class="own">{100 * value:.2f}\u00a0%</td>' in page
    assert "on the true labels" in page
    assert "expected</th>" in tw.report(PROBABILITIES, SELECTION)


def test_from_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save("p.npz", PROBABILITIES)
    save("t.npz", TRUTH)
    tw.save("s.jsonl", SELECTION.to_csr())
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    words = ["report", "--probabilities", "p.npz", "--selection", "s.jsonl", "--truth", "t.npz", "--texts", "texts.txt"]
    assert main([*words, "--priors", "t.npz"]) == 0
    size = (tmp_path / "report.html").stat().st_size
    assert capsys.readouterr().out == f"{round(size / 1e3)} KB written to report.html\n"
    data = read_data((tmp_path / "report.html").read_text())
    assert data["texts"] == TEXTS
    assert main(words) == 2
    assert "Got report.html, which exists" in capsys.readouterr().err
    assert main(["report"]) == 2
    assert "tailwise report needs a RUN_DIR, or --probabilities and --selection." in capsys.readouterr().err
    assert main(["report", "--probabilities", "p.npz"]) == 2
    assert "--probabilities needs --selection FILE" in capsys.readouterr().err
    assert main([*words, "--overwrite", "--alphas", "0,1"]) == 2
    assert "--alphas can only be given with a RUN_DIR" in capsys.readouterr().err


def test_texts_are_checked(tmp_path):
    with pytest.raises(InputError, match=r"texts must hold one title for each of the 40 instances.* Got 2\."):
        tw.report(PROBABILITIES, SELECTION, texts=["a", "b"])
    (tmp_path / "texts.txt").write_bytes(b"\xff")
    with pytest.raises(FileError, match="must be UTF-8 text"):
        tw.report(PROBABILITIES, SELECTION, texts=tmp_path / "texts.txt")


def test_names_stay_text():
    candidates = tw.Candidates.of(PROBABILITIES).with_names(tw.datasets.LabelNames(NAMES))
    page = tw.report(candidates, SELECTION, texts=TEXTS)
    assert NAMES[0] not in page
    assert TEXTS[0] not in page
    assert read_data(page)["labels"]["names"] == NAMES


@pytest.mark.skipif(shutil.which("chromium") is None or shutil.which("chromedriver") is None, reason="needs Chromium")
def test_in_a_browser(tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver")
    candidates = tw.Candidates.of(PROBABILITIES).with_names(tw.datasets.LabelNames(NAMES))
    tw.report(candidates, SELECTION, tmp_path / "page.html", truth=TRUTH, texts=TEXTS, title="Night & day")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=500,900"):
        options.add_argument(word)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    with webdriver.Chrome(options=options, service=service) as browser:
        browser.get((tmp_path / "page.html").as_uri())
        assert browser.title == "Night & day"
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        find = "const box = document.getElementById('find-record'); box.value = arguments[0];"
        count = "box.dispatchEvent(new Event('input')); return document.getElementById('count-records').textContent"
        assert browser.execute_script(find + count, "about 7") == "1 of 40 records"
        assert browser.execute_script(find + count, "subject 7") == f"{(SELECTION.labels == 7).sum()} of 40 records"
        assert browser.execute_script("return document.querySelectorAll('#list-records img').length") == 0


def test_gains_are_shown_in_points_of_the_score():
    page = tw.report(PROBABILITIES, SELECTION)
    assert "without it all records together would lose" in page
    assert "in points: hundredths" in page


def test_measures_and_marks_are_explained_where_they_stand():
    with_truth, without = tw.report(PROBABILITIES, SELECTION, truth=TRUTH), tw.report(PROBABILITIES, SELECTION)
    for page in (with_truth, without):
        assert "<small>how many of the labels given are right</small>" in page
        assert "<small>how much of the vocabulary is used</small>" in page
    assert "those marked &#10003; are among its true labels" in with_truth
    assert "&#10003;" not in without


def test_the_page_knows_what_a_selection_was_made_without():
    pairs = PROBABILITIES.toarray() > np.quantile(PROBABILITIES.data, 0.5)
    for exclude in (pairs, [1, 3]):
        selection = tw.select(PROBABILITIES, "macro-f1", 3, fill="none", exclude=exclude)
        data = read_data(tw.report(PROBABILITIES, selection))
        assert data == read_data(tw.report(PROBABILITIES, selection, exclude=exclude))
        assert data["others"] != read_data(tw.report(PROBABILITIES, selection.labels))["others"]


def test_exclusions_of_a_selection_are_joined_by_id():
    pd = pytest.importorskip("pandas")
    rows = [("ann", "tea", 0.9), ("ann", "jam", 0.5), ("ann", "ham", 0.2), ("bob", "jam", 0.8), ("bob", "tea", 0.3)]
    table = pd.DataFrame(rows, columns=["user", "item", "score"])
    selection = tw.select(table, "macro-f1", 1, exclude=pd.DataFrame({"user": ["ann"], "item": ["tea"]}))
    data = read_data(tw.report(table[::-1], selection))
    i, tea = data["names"].index("ann"), data["labels"]["names"].index("tea")
    assert tea not in data["others"][i][::4] + data["top"][i]
    assert tea in data["others"][1 - i][::4]


def test_titles_of_tables_and_corpora(tmp_path):
    titles = [f"Record {i}, new" for i in range(40)]
    lines = {
        "corpus.tsv": [f"{title}\t<http://x/1> <http://x/2>" for title in titles],
        "table.csv": ["id,text", *(f'{i},"{title}"' for i, title in enumerate(titles))],
        "records.jsonl": [json.dumps({"text": title, "labels": ["b"]}) for title in titles],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n")
        assert read_data(tw.report(PROBABILITIES, SELECTION, texts=tmp_path / name))["texts"] == titles
    (tmp_path / "other.csv").write_text("\n".join(["title", *(f'"{title}"' for title in titles)]))
    with pytest.raises(FileError, match=r"must have the column 'text'\. It has title"):
        tw.report(PROBABILITIES, SELECTION, texts=tmp_path / "other.csv")
    page = tw.report(PROBABILITIES, SELECTION, texts=tmp_path / "other.csv", text_column="title")
    assert read_data(page)["texts"] == titles


def test_the_page_says_by_what_gains_are_measured():
    assert "Gains by macro-F1." in tw.report(PROBABILITIES, SELECTION.labels)
    assert "Gains by coverage." in tw.report(PROBABILITIES, SELECTION.labels, utility="coverage")
    assert "Gains by precision." in tw.report(PROBABILITIES, tw.select(PROBABILITIES, "precision", 3, fill="none"))
