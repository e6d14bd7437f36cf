"""Draw docs/figures/report.png: the first section and the trade-off of a report, as a browser shows them.

    python docs/figures/make_report_figure.py reported-run/report.html docs/figures/report.png

Needs selenium, Pillow, and Debian's chromium and chromium-driver.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

WIDTH, HEIGHT = 960, 4000
PARTS = ("header", "#summary", "#trade-off")


def main(page: str, target: str) -> None:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser.get(Path(page).absolute().as_uri())
        shots = [browser.find_element(By.CSS_SELECTOR, part).screenshot_as_png for part in PARTS]
    finally:
        browser.quit()
    images = [Image.open(io.BytesIO(shot)) for shot in shots]
    gap = 16
    size = max(image.width for image in images) + 2 * gap, sum(image.height + gap for image in images) + gap
    picture = Image.new("RGB", size, "#f5f6f8")
    top = gap
    for image in images:
        picture.paste(image, (gap, top))
        top += image.height + gap
    picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
