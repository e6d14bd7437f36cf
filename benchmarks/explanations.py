"""Time of an explanation of one record, and of the report on 9,537 records and 26,983 labels in a browser."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import scipy.sparse as sp
from harness import Result
from matrices import zipf_matrix

import tailwise as tw
from tailwise.selection.explain import explainer_of

N_INSTANCES, N_LABELS, PER_INSTANCE, K = 9_537, 26_983, 100, 5
MOST_EXPLAIN, MOST_REPORT, MOST_PAGE, MOST_SEARCH = 0.2, 20.0, 15.0, 100.0  # seconds, seconds, MB, milliseconds
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900")
FIELDS = {"#find-record": ["record 95", "nothing", "particular", "zzz"], "#find-label": ["label 2", "26", "zzz"]}
# Milliseconds from an input event until the page has been laid out again.
SEARCH = """
const field = document.querySelector(arguments[0]), done = arguments[2], begin = performance.now();
field.value = arguments[1];
field.dispatchEvent(new Event("input", {bubbles: true}));
document.body.offsetHeight;
requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
"""


def run() -> Iterator[Result]:
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, PER_INSTANCE)
    selection = tw.select(matrix, "macro-f1", K)
    explainer_of(matrix[:50], "macro-f1", selection.labels[:50]).explain(0)  # compiles
    begin = time.perf_counter()
    explainer_of(matrix, "macro-f1", selection.labels).explain(N_INSTANCES // 2)
    seconds = time.perf_counter() - begin
    name = f"explain one record of {N_INSTANCES:,} x {PER_INSTANCE} candidates, beyond loading"
    yield Result(name, f"at most {MOST_EXPLAIN} s", f"{seconds:.2f} s", seconds <= MOST_EXPLAIN)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        yield _write(matrix, selection, page)
        yield from _open(page)


def _write(matrix: sp.csr_array, selection: tw.Selection, page: Path) -> Result:
    texts = [f"Record {i} about nothing in particular" for i in range(N_INSTANCES)]
    begin = time.perf_counter()
    tw.report(matrix, selection, page, texts=texts)
    seconds, size = time.perf_counter() - begin, page.stat().st_size / 1e6
    return Result(
        f"report of {N_INSTANCES:,} records and {N_LABELS:,} labels",
        f"at most {MOST_PAGE:.0f} MB in {MOST_REPORT:.0f} s",
        f"{size:.1f} MB in {seconds:.1f} s",
        size <= MOST_PAGE and seconds <= MOST_REPORT,
    )


def _open(page: Path) -> Iterator[Result]:
    """Open and search the page; times are those of the browser."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        yield Result("the report in a browser", "chromium and chromedriver", "not present", is_met=False)
        return
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ARGUMENTS:
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(executable_path=driver))
    try:
        browser.get(page.as_uri())
        loaded = browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        yield Result("the report opened in chromium", "at most 2 s", f"{loaded / 1e3:.2f} s", loaded <= 2000)
        for field, words in FIELDS.items():
            times = [browser.execute_async_script(SEARCH, field, word) for word in words]
            worst = max(times)
            name = f"the report searched in chromium, {field}, until it is drawn, {len(words)} searches"
            yield Result(name, f"at most {MOST_SEARCH:.0f} ms", f"{worst:.0f} ms at worst", worst <= MOST_SEARCH)
    finally:
        browser.quit()
