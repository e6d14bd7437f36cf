"use strict";
(function () {
  const data = JSON.parse(document.getElementById("records-data").textContent);
  const labels = data.labels, WIDTH = 4, SHOWN = 40;
  const name = (j) => labels.names[j];
  const percent = (share) => (100 * share).toFixed(1) + "\u00a0%";
  // Hundredths of the score, as in the table of the page.
  function size(gain) {
    return 100 * gain < 0.001 ? "less than 0.001 points" : Number((100 * gain).toPrecision(2)) + " points";
  }
  const count = (number) => number.toLocaleString("en");
  const title = (i) => data.texts ? data.texts[i] : data.names ? data.names[i] : "Record " + i;
  const id = (i) => data.names ? data.names[i] : String(i);

  function ordinal(number) {
    const ending = number % 100 > 10 && number % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][number % 10] || "th";
    return number + ending;
  }

  // A row of flat numbers: label, probability, rank, gain; and so on.
  function entries(flat) {
    const found = [];
    for (let x = 0; x < flat.length; x += WIDTH) {
      found.push({ label: flat[x], probability: flat[x + 1], rank: flat[x + 2], gain: flat[x + 3] });
    }
    return found;
  }

  const own = data.own.map(entries), others = data.others.map(entries);
  const isTrue = (i, j) => data.truth !== null && data.truth[i] !== null && data.truth[i].includes(j);
  const words = own.map((row, i) =>
    [i, id(i), title(i), ...row.map((each) => name(each.label))].join("\n").toLowerCase());

  // Names are always set as text, so they can never become markup.
  function element(kind, text, className) {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // Labels that only fill up the number k: below 1 % and with next to no gain, as in selection/reasons.py.
  function findFillers(row) {
    const little = 0.05 * Math.max(0, ...row.map((each) => each.gain));
    return new Set(row.filter((each) => each.gain < 0 || (each.probability < 0.01 && each.gain < little)).map((each) => each.label));
  }

  function reason(each, weakest, isFiller) {
    const place = each.rank ? ordinal(each.rank) + " by probability" : "not a candidate";
    const rarity = "chosen for " + labels.chosen[each.label] + ", " + Number(labels.expected[each.label].toPrecision(3)) + " expected"
      + (labels.training ? ", " + labels.training[each.label] + " in training" : "");
    const start = name(each.label) + " (" + percent(each.probability) + ", " + place + ")";
    if (weakest === undefined && each.gain < 0) return start + ": fills up the number of labels, at a cost of " + size(-each.gain) + "; " + rarity + ".";
    if (isFiller) return start + ": fills up the number of labels; it is unlikely, and without it all records together would lose only " + size(each.gain) + "; " + rarity + ".";
    if (weakest === undefined) return start + ": without it all records together would lose " + size(each.gain) + "; " + rarity + ".";
    const change = each.gain >= 0 ? "add " + size(each.gain) : "cost " + size(-each.gain);
    const less = weakest > each.gain ? ", " + size(weakest - each.gain) + " less than the weakest chosen label" : "";
    return start + ": would " + change + less + "; " + rarity + ".";
  }

  function list(sentences) {
    const made = element("ul", undefined, "reasons");
    for (const sentence of sentences) made.append(element("li", sentence));
    return made;
  }

  function tags(i, found, fillers) {
    const made = element("span");
    for (const j of found) {
      const isFiller = fillers !== undefined && fillers.has(j);
      const tag = element("span", name(j), "tag" + (isTrue(i, j) ? " true" : "") + (isFiller ? " filler" : ""));
      if (isFiller) tag.title = "fills up the number of labels: unlikely, and with next to no gain";
      made.append(tag);
    }
    return made;
  }

  function explain(i, box) {
    const fillers = findFillers(own[i]);
    const weakest = own[i].length ? Math.min(...own[i].map((each) => each.gain)) : 0;
    box.append(element("p", "Chosen, the largest gain first:"), list(own[i].map((each) => reason(each, undefined, fillers.has(each.label)))));
    if (others[i].length) box.append(element("p", "Next best:"), list(others[i].map((each) => reason(each, weakest))));
    const top = element("p", data.topTitle + ": ");
    top.append(tags(i, data.top[i]));
    box.append(top);
    if (data.truth !== null && data.truth[i] !== null) {
      const truth = element("p", "True labels: ");
      truth.append(tags(i, data.truth[i]));
      box.append(truth);
    }
  }

  function show(i) {
    const made = element("details", undefined, "record"), summary = element("summary");
    summary.append(element("strong", title(i)), element("span", " " + (data.texts && data.names ? "(" + id(i) + ") " : "")));
    summary.append(element("br"), tags(i, own[i].map((each) => each.label), findFillers(own[i])));
    made.append(summary);
    made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) explain(i, made); });
    return made;
  }

  function findRecords() {
    const wanted = document.getElementById("find-record").value.trim().toLowerCase(), found = [];
    for (let i = 0; i < words.length; i++) if (words[i].includes(wanted)) found.push(i);
    document.getElementById("count-records").textContent =
      count(found.length) + " of " + count(words.length) + " records" + (found.length > SHOWN ? "; the first " + SHOWN + " are shown" : "");
    document.getElementById("list-records").replaceChildren(...found.slice(0, SHOWN).map(show));
  }

  function findLabels() {
    const wanted = document.getElementById("find-label").value.trim().toLowerCase(), found = [];
    for (let j = 0; j < labels.names.length; j++) if (labels.names[j].toLowerCase().includes(wanted)) found.push(j);
    found.sort((a, b) => (labels.chosen[b] - labels.top[b]) - (labels.chosen[a] - labels.top[a]) || a - b);
    document.getElementById("count-labels").textContent =
      count(found.length) + " of " + count(labels.names.length) + " labels" + (found.length > SHOWN ? "; the first " + SHOWN + " are shown" : "");
    const head = element("tr");
    for (const word of ["label", "chosen", data.topTitle, "expected", ...(labels.training ? ["in training"] : [])]) head.append(element("th", word));
    document.getElementById("list-labels").replaceChildren(head, ...found.slice(0, SHOWN).map(labelRow));
  }

  function labelRow(j) {
    const row = element("tr"), cell = element("th"), link = element("a", name(j));
    link.href = "#records";
    link.addEventListener("click", () => {
      document.getElementById("find-record").value = name(j);
      findRecords();
    });
    cell.append(link);
    row.append(cell, element("td", labels.chosen[j]), element("td", labels.top[j]), element("td", labels.expected[j].toFixed(2)));
    if (labels.training) row.append(element("td", labels.training[j]));
    return row;
  }

  // Spreadsheets run a cell that begins like a formula.
  function cell(value) {
    if (typeof value === "number") return String(value);
    const text = value === null || value === undefined ? "" : String(value);
    return '"' + (/^[=+\-@\t\r]/.test(text) ? "'" : "") + text.replace(/"/g, '""') + '"';
  }

  function save(file, rows) {
    const text = "\ufeff" + rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function saveRecords() {
    const rows = [["record", "title", "label", "probability", "rank", "gain", ...(data.truth ? ["true"] : [])]];
    own.forEach((row, i) => row.forEach((each) => rows.push([
      id(i), title(i), name(each.label), each.probability, each.rank, each.gain, ...(data.truth ? [data.truth[i] ? Number(isTrue(i, each.label)) : ""] : []),
    ])));
    save("records.csv", rows);
  }

  function saveLabels() {
    save("labels.csv", [["label", "chosen", "top-k", "expected", "training"], ...labels.names.map((word, j) =>
      [word, labels.chosen[j], labels.top[j], labels.expected[j], labels.training ? labels.training[j] : ""])]);
  }

  for (const [where, what] of [["find-record", findRecords], ["find-label", findLabels]]) {
    document.getElementById(where).addEventListener("input", what);
    what();
  }
  document.getElementById("save-records").addEventListener("click", saveRecords);
  document.getElementById("save-labels").addEventListener("click", saveLabels);
  document.documentElement.dataset.ready = "records";
})();
