// Items × models, and one page per item. Data come as scripts that call `explorer`; every text is set as text, never as markup.
"use strict";

const PAGE_ROWS = 50;
const READ = 12; // values of a reading that are not folded away
const ADDRESSED = ["benchmark", "condition", "which", "kind", "model", "order"]; // choices that are in an address
const NAMES = { which: "choice of items" };
const SEPARATOR = " "; // between names of models in an address; no name holds a blank
const SURE = 80; // percent: from here on a wrong answer is a confident one
const contents = JSON.parse(document.getElementById("contents").textContent);
const at = (id) => document.getElementById(id);
const kept = new Map(); // file → promise of its content
const waiting = new Map(); // file → what to call with its content
const state = { questions: [], grid: {}, shown: [], page: 0, asked: 0 };

const arrived = (name) => (...given) => {
  const key = [name, ...given.slice(0, -1)].join("-");
  waiting.get(key)?.(given.at(-1));
  waiting.delete(key);
};
window.explorer = Object.fromEntries(["questions", "grid", "items"].map((name) => [name, arrived(name)]));

function load(key) {
  if (!kept.has(key)) {
    kept.set(key, new Promise((done) => { // never kept for a file that is lost: the page then says so and waits
      waiting.set(key, done);
      const script = document.createElement("script");
      script.src = `${key}.js`;
      script.onload = () => script.remove();
      script.onerror = () => { kept.delete(key); lost(); };
      document.head.append(script);
    }));
  }
  return kept.get(key);
}

function lost() {
  at("lost").hidden = false;
  at("summary").textContent = "";
}

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = String(text);
  if (kind) made.className = kind;
  return made;
}

function choices(id, values, chosen) {
  at(id).replaceChildren(...values.map(([value, label]) => new Option(label, value, false, String(value) === String(chosen))));
}

// --- addresses: #benchmark=…&condition=…&item=… ---------------------------------------------------------------------
const wanted = () => new URLSearchParams(location.hash.slice(1));

function address(changes) {
  const found = wanted();
  Object.entries(changes).forEach(([name, value]) => (value === "" || value === null ? found.delete(name) : found.set(name, value)));
  return `#${found}`;
}

async function show() {
  const asked = wanted();
  const turn = ++state.asked;
  const number = Math.max(0, contents.findIndex((each) => each.name === asked.get("benchmark")));
  const benchmark = contents[number];
  if (!benchmark) return;
  // A board may be of a way of scoring under a condition, "normal reference": its responses are those of the condition.
  const under = asked.get("condition") ?? "";
  const place = Math.max(0, benchmark.conditions.findIndex((each) => under === each || under.startsWith(`${each} `)));
  if (!state.questions.length) at("summary").textContent = "loading …";
  const [questions, grids] = await Promise.all([`questions-${number}`, `grid-${number}-${place}`].map(load));
  if (turn !== state.asked) return; // another address was asked for meanwhile
  Object.assign(state, { number, place, benchmark, questions, grid: under_one(benchmark.models, grids) });
  choices("benchmark", contents.map((each) => [each.name, each.name]), benchmark.name);
  choices("condition", benchmark.conditions.map((each) => [each, each]), benchmark.conditions[place]);
  const kinds = [...new Set(questions.map((row) => row[3]).filter((kind) => kind !== null))].sort();
  choices("kind", [["", "any"], ...kinds.map((kind) => [kind, kind])], asked.get("kind") ?? "");
  const named = (asked.get("model") ?? "").split(SEPARATOR);
  at("model").replaceChildren(...benchmark.models.map((model) => new Option(model, model, false, named.includes(model))));
  ["which", "order"].forEach((id) => { at(id).value = asked.get(id) ?? ""; if (at(id).selectedIndex < 0) at(id).selectedIndex = 0; });
  if (at("words").value !== (asked.get("words") ?? "")) at("words").value = asked.get("words") ?? "";
  choose();
  const item = asked.get("item");
  at("overview").hidden = item !== null;
  at("item").hidden = item === null;
  if (item !== null) return page(item, turn);
  draw();
}

// What each model answered under one condition. Who has no response to an item that others were asked has 0 of them.
function under_one(models, grids) {
  const asked = (i) => grids.some(([, , n]) => n[i] !== null);
  const shares = (right, judged) => right.map((each, i) => (each === null ? null : (100 * each) / judged[i]));
  return Object.fromEntries(grids.map(([right, sure, n, judged], m) => [
    models[m], [shares(right, judged), sure, n.map((each, i) => each ?? (asked(i) ? 0 : null)), right, judged],
  ]));
}

// --- the grid -------------------------------------------------------------------------------------------------------
const chosen = () => [...at("model").selectedOptions].map((option) => option.value);
const columns = () => (chosen().length ? chosen() : state.benchmark.models);
const valueOf = (id) => (id === "model" ? chosen().join(SEPARATOR) : at(id).value);
const cell = (model, i) => state.grid[model].map((column) => column[i]);

const FILTERS = {
  all: () => true,
  wrong: (cells) => cells.some(([right]) => right !== null) && cells.every(([right]) => right === null || right === 0),
  sure: (cells) => cells.some(wrongly),
  disagree: (cells) => new Set(cells.filter(([right]) => right !== null).map(([right]) => right >= 50)).size > 1,
  unread: (cells) => cells.some(([, , n]) => !n),
};
const wrongly = ([right, sure]) => right !== null && right < 50 && sure !== null && sure >= SURE;
const sum = (values) => values.reduce((a, b) => a + b, 0);
const mean = (values) => (values.length ? sum(values) / values.length : null);

function choose() {
  const filter = FILTERS[at("which").value] ?? FILTERS.all;
  const words = at("words").value.toLowerCase();
  const [kind, models] = [at("kind").value, columns()];
  const cells = (i, of = models) => of.map((model) => cell(model, i));
  const all = filter === FILTERS.disagree ? state.benchmark.models : models; // one model alone cannot disagree
  state.shown = state.questions.map((_, i) => i).filter((i) => {
    const [name, question, , of] = state.questions[i];
    if (!models.some((model) => state.grid[model][2][i] !== null)) return false; // not asked under this condition
    return (!kind || of === kind) && (!words || `${name} ${question ?? ""}`.toLowerCase().includes(words)) && filter(cells(i, all));
  });
  const rank = {
    hard: (i) => mean(cells(i).map(([right]) => right).filter((right) => right !== null)) ?? 101,
    sure: (i) => -Math.max(-1, ...cells(i).filter(([right]) => right !== null && right < 50).map(([, sure]) => sure ?? -1)),
  }[at("order").value];
  if (rank) {
    const by = new Map(state.shown.map((i) => [i, rank(i)]));
    state.shown.sort((a, b) => by.get(a) - by.get(b) || a - b);
  }
  const last = Math.max(Math.ceil(state.shown.length / PAGE_ROWS) - 1, 0);
  const page = Math.floor(Number(wanted().get("page"))) || 1; // of an address that anybody may have written
  state.page = Math.min(Math.max(page - 1, 0), last);
}

function draw() {
  const models = columns();
  const head = document.createElement("tr");
  head.append(element("th", "item"), ...models.map((model) => element("th", model)));
  head.querySelectorAll("th").forEach((each) => { each.scope = "col"; });
  const shares = document.createElement("tr");
  shares.append(element("th", "right, of the answers to these items that have a verdict"), ...models.map((model) => {
    const [, , , right, judged] = state.grid[model];
    const n = sum(state.shown.map((i) => judged[i] ?? 0));
    const share = (100 * sum(state.shown.map((i) => right[i] ?? 0))) / n;
    return element("td", n ? `${share.toFixed(1)} % of ${n}` : "no verdict");
  }));
  shares.firstChild.scope = "row";
  at("columns").replaceChildren(head);
  const first = state.page * PAGE_ROWS;
  const rows = state.shown.slice(first, first + PAGE_ROWS).map((i) => line(i, models));
  at("rows").replaceChildren(shares, ...rows);
  const last = Math.min(first + PAGE_ROWS, state.shown.length);
  const asked = state.grid[state.benchmark.models[0]][2].filter((n) => n !== null).length;
  at("summary").textContent = `${state.shown.length} of ${asked} items, ${models.length} of ${state.benchmark.models.length} models${unknown()}`;
  at("where").textContent = state.shown.length ? `${first + 1} to ${last} of ${state.shown.length}` : "no such item";
  at("back").disabled = state.page === 0;
  at("next").disabled = last >= state.shown.length;
}

// What an address asks for and is not here: all is shown instead, which must be said.
function unknown() {
  const asked = [...wanted()].filter(([id, value]) => ADDRESSED.includes(id) && value !== valueOf(id) && !value.startsWith(`${valueOf(id)} `));
  return asked.map(([id, value]) => `; there is no ${NAMES[id] ?? id} ${value} here`).join("");
}

function line(i, models) {
  const [name, question] = state.questions[i];
  const made = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const link = element("a", name);
  link.href = address({ item: name });
  head.append(link, element("small", question ?? ""));
  made.append(head, ...models.map((model) => shownCell(model, i)));
  return made;
}

function shownCell(model, i) {
  const [right, sure, n] = cell(model, i);
  const made = element("td", null, !n ? "none" : right === null ? "" : right >= 50 ? "right" : wrongly([right, sure]) ? "wrong sure" : "wrong");
  const sign = !n ? "–" : right === null ? "•" : right === 100 ? "✓" : right === 0 ? "✗" : `${Math.round(right)} %`;
  const said = !n ? "nothing readable" : right === null ? "answered" : right === 100 ? "right" : right === 0 ? "wrong" : `${Math.round(right)} % right`;
  const link = element("a", sign);
  link.href = address({ item: state.questions[i][0], model });
  link.setAttribute("aria-label", `${model}: ${said}${sure === null ? "" : `, confidence ${sure} %`}`);
  made.append(link);
  if (sure !== null) made.append(element("small", sure));
  return made;
}

// --- one item -------------------------------------------------------------------------------------------------------
async function page(name, turn) {
  const i = state.questions.findIndex((row) => row[0] === name);
  const body = at("item");
  const up = element("a", "all items");
  up.href = address({ item: null });
  if (i < 0) return body.replaceChildren(up, element("p", `There is no item ${name} in ${state.benchmark.name}.`));
  const slice = Math.floor(i / state.benchmark.slice);
  const only = chosen();
  body.replaceChildren(up, element("p", "loading …", "soft"));
  const found = (await load(`items-${state.number}-${slice}`))[i - slice * state.benchmark.slice];
  if (turn !== state.asked) return;
  const bar = element("div", null, "bar");
  const here = state.shown.indexOf(i);
  [["previous item", here - 1], ["next item", here + 1]].forEach(([label, to]) => {
    if (here < 0 || to < 0 || to >= state.shown.length) return;
    const link = element("a", label);
    link.href = address({ item: state.questions[state.shown[to]][0] });
    bar.append(link);
  });
  bar.prepend(up);
  body.replaceChildren(bar, element("h2", name), element("pre", found.question ?? "", "question"));
  const facts = known(found.facts);
  const listed = Array.isArray(facts.options) ? facts.options.filter((each) => typeof each === "string") : [];
  if (listed.length) body.append(options(listed));
  if (found.key !== null) body.append(element("p", `right answer: ${found.key}`));
  if (found.kind !== null) body.append(element("p", `kind: ${found.kind}`, "soft"));
  if (found.facts) folded(body, "everything known of the item", pretty(found.facts));
  if (only.length) {
    const all = element("a", "show every model");
    all.href = address({ model: null });
    body.append(all);
  }
  const cards = element("div", null, "cards");
  state.benchmark.models.forEach((model, m) => {
    const [answers, read] = [found.answers, found.read].map((rows) => rows.filter((each) => each.model === m));
    if ((!only.length || only.includes(model)) && answers.length + read.length) cards.append(ofModel(model, { answers, read, prompts: found.prompts }, facts));
  });
  body.append(cards);
  reachable();
  at("title").focus({ preventScroll: true });
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 1); } catch { return text; }
}

// What is known of an item, by name; nothing where it is no JSON object.
function known(text) {
  try { return Object(JSON.parse(text ?? "{}")); } catch { return {}; }
}

function options(listed) {
  const made = element("ol", null, "options");
  listed.forEach((option) => made.append(element("li", option)));
  return made;
}

function ofModel(model, found, facts) {
  const part = document.createElement("section");
  part.append(element("h3", model));
  const places = [...new Set([...found.answers, ...found.read].map((each) => `${each.condition}, run ${each.run}`))];
  places.forEach((place) => {
    const here = (rows) => rows.filter((each) => `${each.condition}, run ${each.run}` === place);
    part.append(element("h4", place), ...here(found.answers).map((each) => answer(each, found)), ...here(found.read).flatMap((each) => reading(each, facts)));
  });
  return part;
}

function answer(each, found) {
  const made = element("div", null, "answer");
  made.append(element("p", `${each.step}: ${each.status}${each.why ? ` (${each.why})` : ""}`, each.status === "ok" ? "soft" : "odd"), element("pre", each.text ?? ""));
  if (each.status === "failed" && each.text) made.append(element("small", "this had arrived when the call failed; it is not scored"));
  cut(made, each.text, each.characters);
  if (each.reasoning) cut(folded(made, "what it thought (never scored)", each.reasoning), each.reasoning, each.thought);
  folded(made, "what was asked", found.prompts[each.prompt]);
  return made;
}

// The score first, then what was read; the item's own facts are above and are not repeated.
function reading(each, facts) {
  const line = element("p", null, "read");
  const plain = (value) => (typeof value === "number" ? Number(value.toFixed(4)) : typeof value === "object" ? JSON.stringify(value) : value);
  const there = each.values.map((value, i) => [state.benchmark.read[i], value]).filter(([, value]) => value !== null && String(value) !== "").map(([key, value]) => [key, plain(value)]);
  const own = there.filter(([key, value]) => String(facts[key] ?? "") !== String(value));
  const right = own.find(([key]) => key === "correct")?.[1];
  const shown = own.filter(([key, value]) => key !== "correct" && !(key === "status" && value === "ok"));
  const first = shown.slice(0, READ).map(([key, value]) => `${key} ${value}`).join(" · ");
  if (right !== undefined) line.append(element("strong", Number(right) >= 0.5 ? "✓ right" : "✗ wrong", Number(right) >= 0.5 ? "right" : "wrong"), " ");
  line.append(element("strong", "read as: "), document.createTextNode(first || "nothing"));
  if (shown.length <= READ) return [line];
  const whole = document.createElement("div");
  folded(whole, "all that was read", own.map(([key, value]) => `${key}: ${value}`).join("\n"));
  return [line, whole];
}

function folded(where, title, text) {
  const made = document.createElement("details");
  made.append(element("summary", title), element("pre", text));
  where.append(made);
  return made;
}

// A text that scrolls is reached with the keyboard too.
function reachable() {
  document.querySelectorAll("pre").forEach((each) => {
    const scrolls = each.scrollHeight > each.clientHeight;
    const title = each.closest("details")?.querySelector("summary").textContent ?? (each.className || "answer");
    const said = { tabindex: 0, role: "group", "aria-label": title };
    Object.entries(said).forEach(([name, value]) => (scrolls ? each.setAttribute(name, value) : each.removeAttribute(name)));
  });
}

// Characters are counted as the store counts them: code points.
function cut(where, text, whole) {
  if (whole > [...String(text ?? "")].length) {
    where.append(element("small", `cut for this page: ${whole} characters in all; the whole text is in the store`));
  }
}

ADDRESSED.forEach((id) => {
  at(id).onchange = () => {
    const plain = id === "benchmark" ? { condition: null, kind: null, model: null } : {};
    location.hash = address({ ...plain, [id]: valueOf(id), page: null });
  };
});
document.addEventListener("toggle", reachable, true);
window.addEventListener("resize", reachable);
at("words").oninput = () => history.replaceState(null, "", address({ words: at("words").value, page: null })) ?? show();
at("filters").onsubmit = (event) => event.preventDefault();
at("back").onclick = () => { location.hash = address({ page: state.page }); };
at("next").onclick = () => { location.hash = address({ page: state.page + 2 }); };
window.onhashchange = show;
show();
