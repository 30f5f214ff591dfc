// What a page of the report does beyond being read: tables sort, filter and save, figures save as PNG, two models are
// compared. Every text is set as text, never as markup; nothing is loaded but files of the report.
"use strict";

const FILTERED_FROM = 8; // rows from which a table can be filtered
const DPI = 600; // of a saved PNG: what journals ask of line art
const WIDTHS_MM = [88, 180]; // one and two columns of a journal
const [LETTERS, LINE] = [88, 10]; // of a caption: letters of 8 points in a line, points between two lines
const [INK, PAPER] = ["#1b1f24", "#ffffff"];

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = String(text);
  if (kind) made.className = kind;
  return made;
}

function button(label, said, then) {
  const made = element("button", label);
  made.type = "button";
  if (said) made.setAttribute("aria-label", said);
  made.onclick = then;
  return made;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// --- tables: order, filter, CSV -------------------------------------------------------------------------------------
// The first line of a cell is its value; what stands small below it is its interval.
const value = (cell) => [...cell.childNodes].filter((node) => node.nodeName !== "SMALL").map((node) => node.textContent).join("").trim();
const below = (cell) => [...cell.querySelectorAll("small")].map((each) => each.textContent.trim()).join(" ");

function number(text) {
  const found = /-?\d[\d,]*(\.\d+)?(e-?\d+)?/i.exec(text.replace("−", "-"));
  return found ? Number(found[0].replaceAll(",", "")) - (text.startsWith("<") ? 1e-12 : 0) : null;
}

function inOrder(rows, place, numeric, down) {
  const keys = new Map(rows.map((row) => [row, numeric ? number(value(row.cells[place])) : value(row.cells[place])]));
  const missing = (key) => key === null || key === "" || key === "N/A";
  return [...rows].sort((a, b) => {
    const [one, other] = [keys.get(a), keys.get(b)];
    if (missing(one) || missing(other)) return missing(one) - missing(other); // last either way
    return (numeric ? one - other : one.localeCompare(other, undefined, { numeric: true })) * (down ? -1 : 1);
  });
}

function sortable(table, rows) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, place) => {
    if (head.classList.contains("drawn")) return;
    const numeric = head.classList.contains("number");
    const turn = { none: numeric ? "descending" : "ascending", descending: numeric ? "ascending" : "none", ascending: numeric ? "none" : "descending" };
    const made = button(head.textContent, null, () => {
      const next = turn[head.getAttribute("aria-sort") ?? "none"];
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      if (next !== "none") head.setAttribute("aria-sort", next);
      body.append(...(next === "none" ? rows : inOrder(rows, place, numeric, next === "descending")));
    });
    made.title = "order the rows by this column";
    head.replaceChildren(made);
  });
}

function filter(rows, caption, said) {
  const made = element("input");
  made.type = "search";
  made.placeholder = "filter rows";
  made.setAttribute("aria-label", `filter rows: ${caption}`);
  made.oninput = () => {
    const words = made.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    });
    said.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  };
  return made;
}

// A cell that a spreadsheet would run as a formula gets a quote in front; numbers stay numbers.
function field(text) {
  const guarded = /^[=+\-@\t\r＝＋－＠]/.test(text) && !/^-?[\d.]+(e-?\d+)?$/i.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function csv(table, rows) {
  const heads = [...table.tHead.rows[0].cells].map((each) => each.textContent);
  const beneath = heads.map((_, place) => rows.some((row) => below(row.cells[place])));
  const line = (texts) => texts.map(field).join(",");
  const lines = [line(heads.flatMap((head, place) => (beneath[place] ? [head, `${head}, below`] : [head])))];
  rows.filter((row) => !row.hidden).forEach((row) => {
    lines.push(line([...row.cells].flatMap((cell, place) => (beneath[place] ? [value(cell), below(cell)] : [value(cell)]))));
  });
  return `${lines.join("\r\n")}\r\n`;
}

const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80) || "table";

function enhanced(where) {
  where.querySelectorAll(".wide > table:not(.grid):not(.answers)").forEach((table) => {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 2 || table.tHead.querySelector("button")) return;
    const caption = table.caption?.textContent ?? "table";
    sortable(table, rows);
    const tools = element("div", null, "tools");
    const said = element("span");
    said.setAttribute("role", "status");
    if (rows.length >= FILTERED_FROM) tools.append(filter(rows, caption, said));
    tools.append(button("CSV", `save as CSV: ${caption}`, () => save(new Blob([csv(table, [...table.tBodies[0].rows])], { type: "text/csv" }), `${fileName(caption)}.csv`)), said);
    table.parentElement.after(tools);
  });
}

// --- figures: numbers as CSV, SVG and PNG at the width of a journal's column ------------------------------------------
// A figure as a file of its own: on white, in ink of its own, its caption below and inside it.
function standalone(svg, mm, caption) {
  const [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number);
  const lines = caption.split(/\s+/).reduce((made, word) => {
    const longer = `${made.at(-1)} ${word}`.trim();
    return longer.length <= LETTERS ? [...made.slice(0, -1), longer] : [...made, word];
  }, [""]);
  const whole = high + LINE * lines.length + 6;
  const copy = svg.cloneNode(true);
  const add = (name, values, text) => {
    const made = document.createElementNS(copy.namespaceURI, name);
    Object.entries(values).forEach(([key, value]) => made.setAttribute(key, value));
    made.textContent = text ?? "";
    return made;
  };
  copy.setAttribute("viewBox", `0 0 ${wide} ${whole}`);
  copy.setAttribute("width", `${mm}mm`);
  copy.setAttribute("height", `${((mm * whole) / wide).toFixed(2)}mm`);
  copy.prepend(add("desc", {}, caption), add("rect", { width: "100%", height: "100%", fill: PAPER }));
  copy.append(...lines.map((line, place) => add("text", { x: 4, y: high + LINE * (place + 1), "font-family": "sans-serif", "font-size": 8, fill: INK }, line)));
  return new XMLSerializer().serializeToString(copy).replaceAll("currentColor", INK);
}

function crc(bytes) {
  let found = 0xffffffff;
  for (const byte of bytes) {
    found ^= byte;
    for (let bit = 0; bit < 8; bit += 1) found = (found >>> 1) ^ (found & 1 ? 0xedb88320 : 0);
  }
  return (found ^ 0xffffffff) >>> 0;
}

function chunk(kind, data) {
  const made = new Uint8Array(12 + data.length);
  const view = new DataView(made.buffer);
  view.setUint32(0, data.length);
  made.set(new TextEncoder().encode(kind), 4);
  made.set(data, 8);
  view.setUint32(8 + data.length, crc(made.subarray(4, 8 + data.length)));
  return made;
}

// The size in millimetres and the caption are part of the file: its first chunk (signature 8, header 25 bytes) is followed by both.
async function described(blob, caption) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const size = new DataView(new ArrayBuffer(9));
  const perMetre = Math.round(DPI / 0.0254);
  [0, 4].forEach((at) => size.setUint32(at, perMetre));
  size.setUint8(8, 1);
  const text = new TextEncoder().encode(`Description\0\0\0\0\0${caption}`);
  return new Blob([bytes.subarray(0, 33), chunk("pHYs", new Uint8Array(size.buffer)), chunk("iTXt", text), bytes.subarray(33)], { type: "image/png" });
}

async function png(text, mm, caption) {
  const [, , wide, high] = /viewBox="([^"]*)"/.exec(text)[1].split(" ").map(Number);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = address;
  await image.decode();
  URL.revokeObjectURL(address);
  const canvas = document.createElement("canvas");
  const width = Math.round((mm / 25.4) * DPI);
  Object.assign(canvas, { width, height: Math.round((width * high) / wide) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return described(await new Promise((done) => canvas.toBlob(done, "image/png")), caption);
}

function savable(figure, place) {
  const [svg, caption] = [figure.querySelector("svg"), figure.querySelector(".caption").textContent.trim()];
  const name = `${figure.closest("section").id}-${place + 1}`;
  const numbers = figure.querySelector("template").content.textContent;
  const files = element("span", "Data ", "files");
  files.append(button("CSV", "save the numbers of this figure as CSV", () => save(new Blob([numbers], { type: "text/csv" }), `${name}.csv`)));
  [["SVG", (text) => new Blob([text], { type: "image/svg+xml" })], ["PNG", png]].forEach(([kind, make]) => {
    files.append(` ${kind}`);
    WIDTHS_MM.forEach((mm) => files.append(" ", button(`${mm} mm`, `save this figure as ${kind}, ${mm} mm wide`, async () => {
      save(await make(standalone(svg, mm, caption), mm, caption), `${name}-${mm}mm.${kind.toLowerCase()}`);
    })));
  });
  figure.querySelector("figcaption").append(" ", files);
}

// --- two models -----------------------------------------------------------------------------------------------------------
const tests = new Map(); // number of the first model → promise of its rows
let arrived = null;
window.pairs = (first, rows) => { arrived = rows; };

function testsOf(first, given) {
  if (!tests.has(first)) {
    tests.set(first, new Promise((done) => {
      const script = document.createElement("script");
      script.src = `${given.folder}/pairs-${first}.js`;
      script.onload = () => { done(arrived); script.remove(); };
      script.onerror = () => done([]);
      document.head.append(script);
    }));
  }
  return tests.get(first);
}

const fixed = (x) => (x === null ? "" : x.toFixed(3));
const chance = (p) => (p === null ? "" : p < 1e-4 ? "<0.0001" : p.toFixed(4));

function verdict(row, one, other) {
  if (row.verdict !== "significant") return (row.verdict ?? row.status ?? "not tested").replaceAll("_", " ");
  const [name, word] = [row.value > 0 === (row.better ?? true) ? one : other, row.better === null ? "higher" : "better"];
  return `${name} ${word}`;
}

function linked(text, address) {
  if (!address) return text;
  const made = element("a", text);
  made.href = address;
  made.title = "the items on which models disagree";
  return made;
}

// An interval on a line from -most to most, its middle at 0: what it says stands in the cell beside it.
function drawn(row, most) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 120 16");
  svg.setAttribute("class", "span");
  svg.setAttribute("aria-hidden", "true");
  const add = (name, values) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    Object.entries(values).forEach(([key, text]) => made.setAttribute(key, text));
    svg.append(made);
  };
  const x = (at) => 60 + (56 * at) / (most || 1);
  add("line", { x1: 60, x2: 60, y1: 0, y2: 16, class: "zero" });
  if (row.low !== null && row.high !== null) add("line", { x1: x(row.low), x2: x(row.high), y1: 8, y2: 8, class: "arm" });
  if (row.value !== null) add("circle", { cx: x(row.value), cy: 8, r: 3.5 });
  return svg;
}

function pairTable(rows, caption, columns) {
  const table = element("table");
  table.createCaption().append(element("span", caption));
  const head = table.createTHead().insertRow();
  columns.forEach(([name, , kind]) => { const made = element("th", name, kind); made.scope = "col"; head.append(made); });
  const body = table.createTBody();
  rows.forEach((row) => {
    const line = body.insertRow();
    columns.forEach(([, get, kind], place) => {
      const made = element(place ? "td" : "th", null, kind);
      if (!place) made.scope = "row";
      made.append(get(row) ?? "");
      line.append(made);
    });
  });
  const wide = element("div", null, "wide");
  wide.tabIndex = 0;
  wide.setAttribute("role", "group");
  wide.setAttribute("aria-label", caption);
  wide.append(table);
  return wide;
}

function ofBenchmark(name, rows, one, other, asks) {
  const made = element("section");
  const [primary, rest] = [rows.filter((row) => row.primary), rows.filter((row) => !row.primary)];
  const most = Math.max(...primary.flatMap((row) => [row.value, row.low, row.high]).filter((x) => x !== null).map(Math.abs));
  const columns = [
    ["asked", (row) => linked(row.under, row.items), ""],
    ["verdict", (row) => verdict(row, one, other), "verdict"],
    ["difference", (row) => fixed(row.value), "number"],
    ["95 % interval", (row) => (row.low === null ? "" : `${fixed(row.low)} to ${fixed(row.high)}`), "number"],
    ["p", (row) => chance(row.p), "number"],
    ["n", (row) => row.n, "number"],
  ];
  made.append(element("h3", name));
  const question = asks[name]?.[primary[0]?.family];
  if (question) made.append(element("p", question));
  if (primary.length) {
    made.append(pairTable(primary, `${name}: ${primary[0].measure}, ${one} minus ${other}`, [...columns, ["below 0, above 0", (row) => drawn(row, most), "drawn"]]));
  }
  if (rest.length) {
    const folded = element("details");
    folded.append(element("summary", `${rest.length} secondary tests`), pairTable(rest, `${name}, secondary tests: ${one} minus ${other}`, [
      ["measure", (row) => row.measure, ""], ["test", (row) => row.family.replaceAll("_", " "), ""], ...columns, ["note", (row) => row.note, "long"],
    ]));
    made.append(folded);
  }
  return made;
}

function compared() {
  const given = JSON.parse(document.getElementById("comparison").textContent);
  const [one, other, said, where] = ["one", "other", "pair-said", "pairs"].map((id) => document.getElementById(id));
  let turn = 0;
  async function show() {
    turn += 1;
    const mine = turn;
    const [a, b] = [Number(one.value), Number(other.value)];
    const found = a === b ? [] : await testsOf(Math.min(a, b), given);
    if (mine !== turn) return; // another pair was chosen meanwhile
    const rows = found.filter((row) => (row[0] === a && row[1] === b) || (row[0] === b && row[1] === a)).map((row) => {
      const made = { ...given.kinds[row[2]], ...Object.fromEntries(given.columns.map((name, i) => [name, row[i + 3]])) };
      const turned = (x) => (x === null ? null : -x);
      return row[0] === a ? made : { ...made, value: turned(made.value), low: turned(made.high), high: turned(made.low) };
    });
    const names = [...new Set(rows.map((row) => row.benchmark))];
    said.textContent = a === b ? "Choose two different models." : rows.length ? `${rows.length} ${rows.length === 1 ? "test" : "tests"} on ${names.length} ${names.length === 1 ? "benchmark" : "benchmarks"}` : "No test between these two: they share no items, or one of them is a simulated observer and the other is not.";
    where.replaceChildren(...names.map((name) => ofBenchmark(name, rows.filter((row) => row.benchmark === name), given.models[a], given.models[b], given.asks)));
    enhanced(where);
  }
  one.onchange = show;
  other.onchange = show;
  document.getElementById("pair").onsubmit = (event) => event.preventDefault();
  show();
}

enhanced(document);
document.querySelectorAll("section").forEach((part) => part.querySelectorAll("figure").forEach(savable));
if (document.getElementById("comparison")) compared();
