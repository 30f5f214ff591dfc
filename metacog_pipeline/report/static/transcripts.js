// The transcripts of one model: search, filters, pages, CSV. Every text is set as text, never as markup.
"use strict";

const PAGE_ROWS = 25;
const FILTERS = ["benchmark", "condition", "step", "status", "run"];
const COLUMNS = ["benchmark", "item_id", "condition", "step", "run", "status", "text", "prompt", "latency_s", "cost_usd",
  "reasoning", "why"];
const TEXT_COLUMNS = new Set(["benchmark", "item_id", "condition", "step", "status", "text", "prompt", "reasoning", "why"]);
const rows = [];
let shown = [];
let page = 0;

const at = (id) => document.getElementById(id);

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = String(text);
  if (kind) made.className = kind;
  return made;
}

// Called by every data file, in whatever order they arrive.
window.chunk = (place, columns, values) => {
  const loaded = values.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
  loaded.forEach((row, i) => { row._place = place * 1e6 + i; });
  rows.push(...loaded);
};

function load(files) {
  let waiting = files.length;
  const done = () => {
    waiting -= 1;
    at("state").textContent = waiting ? `loading, ${waiting} files left` : "";
    if (!waiting) ready();
  };
  files.forEach((file) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = done;
    script.onerror = () => { at("lost").hidden = false; done(); };
    document.head.append(script);
  });
  if (!files.length) ready();
}

function ready() {
  rows.sort((a, b) => a._place - b._place);
  FILTERS.forEach((name) => {
    const select = at(name);
    select.append(new Option(`any ${name}`, ""));
    [...new Set(rows.map((row) => String(row[name])))].sort().forEach((value) => select.append(new Option(value, value)));
    select.onchange = search;
  });
  at("words").oninput = search;
  at("back").onclick = () => turn(-1);
  at("next").onclick = () => turn(1);
  at("csv").onclick = save;
  search();
}

function search() {
  const words = at("words").value.toLowerCase();
  const wanted = FILTERS.map((name) => [name, at(name).value]).filter(([, value]) => value !== "");
  shown = rows.filter((row) =>
    wanted.every(([name, value]) => String(row[name]) === value) &&
    (!words || [row.item_id, row.text, row.prompt, row.reasoning].some((text) => String(text ?? "").toLowerCase().includes(words))));
  page = 0;
  draw();
}

function turn(step) {
  page = Math.min(Math.max(page + step, 0), Math.max(Math.ceil(shown.length / PAGE_ROWS) - 1, 0));
  draw();
}

function draw() {
  const first = page * PAGE_ROWS;
  const body = at("answers");
  body.replaceChildren(...shown.slice(first, first + PAGE_ROWS).map(line));
  const last = Math.min(first + PAGE_ROWS, shown.length);
  at("where").textContent = shown.length ? `${first + 1} to ${last} of ${shown.length}` : "no such answer";
  at("back").disabled = page === 0;
  at("next").disabled = last >= shown.length;
  reachable();
}

// A text that scrolls is reached with the keyboard too.
function reachable() {
  document.querySelectorAll("pre").forEach((each) => {
    const scrolls = each.scrollHeight > each.clientHeight;
    const title = each.closest("details")?.querySelector("summary").textContent ?? "answer";
    const said = { tabindex: 0, role: "group", "aria-label": title };
    Object.entries(said).forEach(([name, value]) => (scrolls ? each.setAttribute(name, value) : each.removeAttribute(name)));
  });
}

function line(row) {
  const made = document.createElement("tr");
  made.append(element("th", row.item_id));
  made.append(element("td", `${row.benchmark} · ${row.condition} · ${row.step} · run ${row.run}`));
  const status = element("td", row.status, row.status === "ok" ? "" : "odd");
  if (row.why) status.append(element("small", row.why));
  made.append(status);
  const cell = document.createElement("td");
  cell.append(element("pre", row.text));
  if (row.status === "failed" && row.text) {
    cell.append(element("small", "this had arrived when the call failed; it is not scored"));
  }
  cut(cell, row.text, row.characters);
  if (row.reasoning) cut(folded(cell, "what it thought (never scored)", row.reasoning), row.reasoning, row.thought);
  folded(cell, "what was asked", row.prompt);
  made.append(cell);
  return made;
}

function folded(cell, title, text) {
  const made = document.createElement("details");
  made.append(element("summary", title), element("pre", text));
  cell.append(made);
  return made;
}

// Characters are counted as the store counts them: code points.
function cut(cell, text, whole) {
  if (whole > [...String(text ?? "")].length) {
    cell.append(element("small", `cut for this page: ${whole} characters in all; the whole text is in the store`));
  }
}

// A cell that a spreadsheet would run as a formula gets a quote in front; numbers stay numbers.
function field(name, value) {
  let text = value === null || value === undefined ? "" : String(value);
  if (TEXT_COLUMNS.has(name) && /^[=+\-@\t\r\n＝＋－＠]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function save() {
  const lines = [COLUMNS.join(","), ...shown.map((row) => COLUMNS.map((name) => field(name, row[name])).join(","))];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n")], { type: "text/csv" }));
  link.download = "answers.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

document.addEventListener("toggle", reachable, true);
window.addEventListener("resize", reachable);
window.csvField = field;
load(JSON.parse(at("files").textContent));
