"""The page in a real browser, without a network: it draws, answers to the dial and to the mouse, and fits a phone."""

import json
import os
import re
import shutil

import pytest

import tailwise as tw
from tailwise.datasets import load, load_labels
from tailwise.reports.page import build_page

selenium = pytest.importorskip("selenium")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NEEDED = "TAILWISE_NEEDS_BROWSER"  # set where a browser must be there, as in CI
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--window-size=1280,900",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
ALPHAS = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1]
PATIENCE = 60


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window and without a network."""
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        message = "no browser: install Debian's chromium and chromium-driver"
        pytest.fail(message) if os.environ.get(NEEDED) else pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(executable_path=driver))
    yield started
    started.quit()


@pytest.fixture(scope="module")
def run_page(make_run, tmp_path_factory):
    """The page of a run in a file, and the curve it must show."""
    folder = make_run()
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(build_page(folder, alphas=ALPHAS), encoding="utf-8")
    truth = load_labels(folder / "truth.npz")
    curve = tw.trade_off(load(folder / "probabilities.npz"), "precision", "macro-f1", 2, truth=truth, alphas=ALPHAS)
    return path, curve


@pytest.fixture
def opened(browser, run_page):
    """The page of the run, drawn."""
    open_page(browser, run_page[0])
    return browser


def open_page(browser, path, width=1280):
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what earlier pages left
    browser.get(path.as_uri())
    boxes = "return document.querySelectorAll('[data-chart]:not(.js-plotly-plot)').length"
    WebDriverWait(browser, PATIENCE).until(lambda each: each.execute_script(boxes) == 0)


def shown(browser, key, chart="trade-off"):
    return browser.find_element(By.CSS_SELECTOR, f"[data-dial='{chart}'] [data-show={key}]").text


def requested(browser):
    """The addresses of everything that was asked for."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]


def test_no_errors_and_no_requests(opened, run_page):
    assert opened.get_log("browser") == []
    urls = requested(opened)
    assert run_page[0].as_uri() in urls
    assert [url for url in urls if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.title == "2 labels per instance for macro-F1"  # no name of a label has changed it


def test_every_chart_is_drawn(opened):
    for name, marks in (
        ("trade-off", ".scatterlayer .points path"),
        ("bins-f1", ".barlayer path"),
        ("bins-found", ".barlayer path"),
        ("expected", ".scatterlayer .points path"),
        ("reliability", ".scatterlayer .points path"),
    ):
        paths = opened.find_elements(By.CSS_SELECTOR, f"#chart-{name} {marks}")
        assert paths, name
        assert all(path.get_attribute("d").startswith("M") for path in paths)
        titles = opened.find_elements(By.CSS_SELECTOR, f"#chart-{name} .xtitle")
        assert [title.text != "" for title in titles] == [True]


def test_the_curve_has_all_its_points(opened):
    traces = opened.find_elements(By.CSS_SELECTOR, "#chart-trade-off .scatterlayer .trace")
    points = [len(trace.find_elements(By.CSS_SELECTOR, ".points path")) for trace in traces]
    assert sorted(points) == [1, 1, 1, len(ALPHAS)]  # the ring, top-k, this run; the mixtures
    assert len(opened.find_elements(By.CSS_SELECTOR, "#chart-trade-off .scatterlayer .lines path")) == 1


def test_hovering_a_point_shows_alpha_and_both_metrics(opened, run_page):
    opened.execute_script("document.getElementById('chart-trade-off').scrollIntoView({behavior: 'instant'})")
    paths = opened.find_elements(By.CSS_SELECTOR, "#chart-trade-off .scatterlayer .trace:first-child .points path")
    assert len(paths) == len(ALPHAS)
    number = 3  # alone on its place, neither at an end nor under the ring
    ActionChains(opened).move_to_element(paths[number]).perform()
    label = WebDriverWait(opened, PATIENCE).until(
        lambda each: each.find_elements(By.CSS_SELECTOR, "#chart-trade-off .hoverlayer .hovertext")
    )[0]
    point = run_page[1].points[number]
    text = label.get_attribute("textContent")
    for part in (f"alpha {point.alpha}", f"precision {point.first:.2%}", f"macro-F1 {point.second:.2%}"):
        assert part in text


def test_the_dial_changes_the_alpha(opened, run_page):
    dial = opened.find_element(By.ID, "dial-trade-off")
    seen = set()
    for key, drop in ((Keys.HOME, 0), (Keys.ARROW_RIGHT, 1), (Keys.ARROW_RIGHT, 2), (Keys.END, 100)):
        dial.send_keys(key)
        best = run_page[1].best(max_drop=drop / 100)
        assert shown(opened, "drop") == f"{drop} %"
        assert float(shown(opened, "alpha")) == best.alpha
        assert shown(opened, "first") == f"{100 * best.first:.2f} %"
        assert shown(opened, "second") == f"{100 * best.second:.2f} %"
        ring = opened.execute_script("return document.getElementById('chart-trade-off').data[1]")
        assert (ring["x"], ring["y"]) == ([best.first], [best.second])
        seen.add(shown(opened, "alpha"))
    assert len(seen) > 1


def test_the_dial_picks_as_python_does_at_every_step(opened, run_page):
    script = """
        const dial = document.getElementById("dial-trade-off"), alphas = [];
        for (let drop = 0; drop <= 100; drop++) {
          dial.value = drop;
          dial.dispatchEvent(new Event("input"));
          alphas.push(Number(document.querySelector("[data-show=alpha]").textContent));
        }
        return alphas;"""
    assert opened.execute_script(script) == [run_page[1].best(max_drop=drop / 100).alpha for drop in range(101)]


def test_the_command_follows_the_dial(opened, run_page):
    opened.find_element(By.ID, "dial-trade-off").send_keys(Keys.END)
    alpha = run_page[1].best(max_drop=1).alpha
    command, python = shown(opened, "command"), shown(opened, "python")
    assert command.startswith("tailwise select probabilities.npz -u ")
    assert ("*macro-f1" in command) == (alpha < 1)
    assert python.startswith('tw.select("probabilities.npz", ')


def test_charts_fit_on_paper_and_grow_back(opened):
    measure = "return document.querySelector('#chart-trade-off .main-svg').getBoundingClientRect().width"
    on_screen = opened.execute_script(measure)
    opened.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert opened.execute_script(measure) == 640
    opened.execute_script("dispatchEvent(new Event('afterprint'))")
    assert opened.execute_script(measure) == on_screen > 640


def test_text_can_be_read_on_light_and_dark_ground(opened):
    script = """
        const style = getComputedStyle(document.querySelector("section"));
        const title = getComputedStyle(document.querySelector("#chart-trade-off .xtitle"));
        return [style.backgroundColor, style.color, title.fill];"""
    lightness = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        WebDriverWait(opened, PATIENCE).until(lambda each: len(set(each.execute_script(script)[1:])) == 1)
        colours = opened.execute_script(script)
        lightness[scheme] = [sum(map(int, re.findall(r"\d+", colour)[:3])) / 765 for colour in colours]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert lightness["light"][0] > 0.9
    assert lightness["dark"][0] < 0.2
    assert all(abs(ground - ink) > 0.6 for ground, ink, _ in lightness.values())


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_no_sideways_scrolling(browser, run_page, width):
    open_page(browser, run_page[0], width)
    assert browser.execute_script("return innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return document.body.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 1280])
def test_an_experiment(browser, experiment, width):
    folder = experiment()
    path = folder / "report.html"
    path.write_text(build_page(folder), encoding="utf-8")
    open_page(browser, path, width)
    assert browser.get_log("browser") == []
    assert [url for url in requested(browser) if not url.startswith(("file:", "data:", "blob:"))] == []
    assert browser.title.startswith("All strategies <script>alert(1)</script>")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for name in ("mixed-k3", "mixed-k5"):
        assert browser.find_elements(By.CSS_SELECTOR, f"#chart-{name} .scatterlayer .points path")
    dial = browser.find_element(By.ID, "dial-mixed-k5")
    dial.send_keys(Keys.HOME)
    assert shown(browser, "alpha", "mixed-k5") == "0.01"
    dial.send_keys(Keys.END)
    assert shown(browser, "alpha", "mixed-k5") == "0.99"
    assert shown(browser, "alpha", "mixed-k3") == "0.01"  # 5 percent of 27.38 leave 26.01: not yet 26.00


def test_a_page_without_charts(browser, make_run, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(build_page(make_run("-u", "coverage", "-k", "2", "--method", "tree")), encoding="utf-8")
    open_page(browser, path)
    assert browser.get_log("browser") == []
