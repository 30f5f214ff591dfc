// What a page of the report does beyond being read: tables sort, filter and save, figures save as SVG.
// Every text is set as text, never as markup; nothing is loaded but files of the report.
"use strict";

const FILTERED_FROM = 8; // rows from which a table can be filtered
const WIDTH_MM = 180; // of a saved figure: two columns of a journal
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
// The first line of a cell is its value; the small line below it is its interval.
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

// --- figures: SVG with the caption --------------------------------------------------------------
// A figure as a file of its own: on white, in ink of its own, its caption below and inside it.
function standalone(svg, caption) {
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
  copy.setAttribute("width", `${WIDTH_MM}mm`);
  copy.setAttribute("height", `${((WIDTH_MM * whole) / wide).toFixed(2)}mm`);
  copy.prepend(add("desc", {}, caption), add("rect", { width: "100%", height: "100%", fill: PAPER }));
  copy.append(...lines.map((line, place) => add("text", { x: 4, y: high + LINE * (place + 1), "font-family": "sans-serif", "font-size": 8, fill: INK }, line)));
  return new XMLSerializer().serializeToString(copy).replaceAll("currentColor", INK);
}

function savable(figure, place) {
  const [svg, caption] = [figure.querySelector("svg"), figure.querySelector(".caption").textContent.trim()];
  const name = `${figure.closest("section").id}-${place + 1}`;
  const files = element("span", "", "files");
  files.append(button("SVG", "save this figure as SVG with its caption", () => {
    save(new Blob([standalone(svg, caption)], { type: "image/svg+xml" }), `${name}.svg`);
  }));
  figure.querySelector("figcaption").append(" ", files);
}

enhanced(document);
document.querySelectorAll("section").forEach((part) => part.querySelectorAll("figure").forEach(savable));
