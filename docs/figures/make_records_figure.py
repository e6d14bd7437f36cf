"""Draw records.png: the first records of a report, as a browser shows them. Needs Chromium and selenium."""

import shutil
import tempfile
from pathlib import Path

from selenium import webdriver

from tailwise.reports.demo_story import tell_story

SIZE = "1000,1150"


def main() -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={SIZE}"):
        options.add_argument(word)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    with tempfile.TemporaryDirectory() as folder, webdriver.Chrome(options=options, service=service) as browser:
        browser.get(tell_story(Path(folder), 0).page.resolve().as_uri())
        browser.execute_script("document.querySelector('details.record').open = true")
        browser.save_screenshot(str(Path(__file__).with_name("records.png")))


if __name__ == "__main__":
    main()
