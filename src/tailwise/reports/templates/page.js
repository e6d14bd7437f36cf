"use strict";
(function () {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  const NARROW = 520, SYMBOL_WIDTH = 58, PAPER_WIDTH = 640; // in pixels
  const percent = (share) => (100 * share).toFixed(2) + "\u00a0%";
  const boxes = document.querySelectorAll("[data-chart]");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // The colours of text and grid in the style sheet, for the theme of the reader.
  function colours() {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    return {
      "font.color": ink,
      "xaxis.gridcolor": line,
      "xaxis.linecolor": line,
      "yaxis.gridcolor": line,
      "yaxis.linecolor": line,
    };
  }

  // The point with the largest second metric whose first is at most the drop below the highest, like Curve.best;
  // if there is none, the point with the smallest drop.
  function pick(points, highest, drop) {
    const floor = highest - drop * Math.abs(highest);
    const allowed = points.filter((point) => point.first >= floor);
    if (allowed.length === 0) {
      return points.reduce((best, point) => (point.first > best.first ? point : best));
    }
    return allowed.reduce((best, point) => (point.second > best.second ? point : best));
  }

  // On a phone, a long legend would leave no room for the chart, so use two columns and a higher box.
  function makeRoomForLegend(box, figure) {
    const entrywidth = (box.clientWidth - 2 * SYMBOL_WIDTH) / 2;
    Object.assign(figure.layout.legend, { x: -0.2, entrywidth, font: { size: 11 } });
    box.style.height = box.clientHeight + 11 * figure.data.length + "px";
  }

  function show(dial, name, curve) {
    const input = dial.querySelector("input");
    const point = pick(curve.points, curve.highest, Number(input.value) / 100);
    const texts = {
      drop: input.value + "\u00a0%",
      alpha: String(point.alpha),
      first: percent(point.first),
      second: curve.is_share ? percent(point.second) : point.second.toFixed(4),
      command: point.command,
      python: point.python,
    };
    for (const [key, text] of Object.entries(texts)) {
      dial.querySelector("[data-show=" + key + "]").textContent = text;
    }
    Plotly.restyle("chart-" + name, { x: [[point.first]], y: [[point.second]] }, [1]);
  }

  for (const box of boxes) {
    const figure = data.charts[box.dataset.chart];
    if (box.clientWidth < NARROW && figure.data.length > 4) {
      makeRoomForLegend(box, figure);
    }
    Plotly.newPlot(box, figure.data, figure.layout, config);
    Plotly.relayout(box, colours());
  }
  dark.addEventListener("change", () => boxes.forEach((box) => Plotly.relayout(box, colours())));
  // Paper is narrower than most screens, and printing does not redraw the charts.
  addEventListener("beforeprint", () =>
    boxes.forEach((box) => Plotly.relayout(box, { width: Math.min(box.clientWidth, PAPER_WIDTH) })));
  addEventListener("afterprint", () => boxes.forEach((box) => Plotly.relayout(box, { width: null, autosize: true })));

  for (const dial of document.querySelectorAll("[data-dial]")) {
    const name = dial.dataset.dial;
    const curve = data.dials[name];
    dial.querySelector("input").addEventListener("input", () => show(dial, name, curve));
    show(dial, name, curve);
  }
})();
