// The leaderboard: a table of metrics and benchmarks, a scatter plot, and what is known of one cell.

const BOARD = JSON.parse(document.getElementById("metric-board-data").textContent);

// What is shown, and the measures that it has on rankings and on ratings.
const MEASURES = {
  systems: ["r of systems", ["mean pearson"]],
  ranks: ["ρ of systems", ["mean spearman"]],
  trueskill: ["r of systems, TrueSkill", ["trueskill pearson"]],
  "trueskill-ranks": ["ρ of systems, TrueSkill", ["trueskill spearman"]],
  sentences: ["sentences: accuracy, or r of ratings", ["sentence_accuracy", "segment_pearson"]],
  "sentences-tau": ["sentences: τ", ["sentence_kendall", "grouped_kendall"]],
  equal: ["sentences: accuracy at equal edits", ["sentence_accuracy_equal_edits"]],
  ties: ["sentences: tie-calibrated accuracy", ["tie_calibrated_accuracy"]],
};
const NAMES = {
  "mean pearson": "r of systems, corpus score",
  "mean spearman": "ρ of systems, corpus score",
  "trueskill pearson": "r of systems, TrueSkill",
  "trueskill spearman": "ρ of systems, TrueSkill",
  sentence_accuracy: "accuracy of sentences",
  sentence_kendall: "τ of sentences",
  sentence_accuracy_equal_edits: "accuracy at equal edits",
  tie_calibrated_accuracy: "tie-calibrated accuracy",
  segment_pearson: "r of outputs",
  grouped_kendall: "τ within sentences",
};
const PHONE = 700;

const columnOf = (cell) => `${cell.benchmark} ${cell.human}`;
const cells = new Map(BOARD.cells.map((cell) => [`${cell.metric} ${columnOf(cell)}`, cell]));
const COLUMNS = [...new Set(BOARD.cells.map(columnOf))];
const SPEEDS = { 0: "any", 10: "10 outputs a second", 100: "100 outputs a second", 1000: "1,000 outputs a second" };

// Sentences first: there are thousands of comparisons of them, and a dozen systems.
const chosen = {
  measure: "sentences",
  benchmarks: innerWidth < PHONE ? "seeda-s:base" : "all",
  references: "all",
  language: "all",
  licence: "all",
  speed: 0,
  sentinels: true,
  filters: false,
  order: COLUMNS[0],
  descending: true,
};

const root = document.getElementById("metric-board").attachShadow({ mode: "open" });
const place = Object.fromEntries(["controls", "table", "cell", "scatter"].map((name) => [name, el("div")]));
root.append(
  el("style", {}, STYLE),
  el("div", { class: "card" }, place.controls, place.table),
  place.cell,
  el("div", { class: "card" }, place.scatter),
);

/** Return the value and intervals of a metric in a column: the first of the measures that is there. */
function estimate(metric, column) {
  const found = cells.get(`${metric} ${column}`)?.measures ?? {};
  return MEASURES[chosen.measure][1].map((name) => found[name]).find(Boolean) ?? null;
}

/** Return the interval that is drawn: over systems if there is one, else over sentences. */
const interval = ([, systems, sentences]) => systems ?? sentences;

function columns() {
  const wanted = (column) => chosen.benchmarks === "all" || column.split(" ")[0] === chosen.benchmarks;
  // Both human scores of GJG15's systems come from the same comparisons of sentences.
  const repeated = (column) => column === "gjg15 EW" && /sentences|equal|ties/.test(chosen.measure);
  return COLUMNS.filter((column) => wanted(column) && !repeated(column)).filter((column) =>
    Object.keys(BOARD.metrics).some((metric) => estimate(metric, column)),
  );
}

function metrics() {
  const passes = ([, about]) =>
    (chosen.references === "all" || about.references === (chosen.references === "with")) &&
    (chosen.language === "all" || about.language === chosen.language) &&
    (chosen.licence === "all" || !restricted(about)) &&
    (about.speed ?? 0) >= Number(chosen.speed) &&
    (chosen.sentinels || !about.sentinel);
  const rank = ([metric, about]) => {
    const value = chosen.order === "speed" ? about.speed : estimate(metric, chosen.order)?.[0];
    if (chosen.order === "metric") return metric;
    return value ?? -Infinity * (chosen.descending ? 1 : -1);
  };
  const direction = chosen.descending ? -1 : 1;
  return Object.entries(BOARD.metrics)
    .filter(passes)
    .sort((one, other) => (rank(one) < rank(other) ? -direction : rank(one) > rank(other) ? direction : 0));
}

function drawControls() {
  const set = (key) => (value) => {
    chosen[key] = value;
    if (!columns().includes(chosen.order) && !["speed", "metric"].includes(chosen.order)) {
      chosen.order = columns()[0] ?? "metric";
    }
    drawAll();
  };
  const pick = (label, key, options) => choice(label, options, chosen[key], set(key));
  const names = [...new Set(BOARD.cells.map((cell) => cell.benchmark))];
  fill(
    place.controls,
    el(
      "div",
      { class: "controls" },
      pick(
        "Agreement",
        "measure",
        Object.entries(MEASURES).map(([key, [name]]) => [key, name]),
      ),
      pick("Benchmark", "benchmarks", [["all", "all"], ...names.map((name) => [name, name])]),
      el(
        "details",
        { open: chosen.filters, ontoggle: (event) => (chosen.filters = event.target.open) },
        el("summary", {}, "Filters"),
        el(
          "div",
          { class: "controls" },
          pick("Needs references", "references", [
            ["all", "all metrics"],
            ["without", "no"],
            ["with", "yes"],
          ]),
          pick("Language", "language", [
            ["all", "all metrics"],
            ["any", "works in any"],
            ["English", "English only"],
          ]),
          pick("Licence", "licence", [
            ["all", "all metrics"],
            ["free", "any use"],
          ]),
          pick("Speed, at least", "speed", Object.entries(SPEEDS)),
          el(
            "label",
            { class: "check" },
            el("input", {
              type: "checkbox",
              checked: chosen.sentinels,
              onchange: (event) => set("sentinels")(event.target.checked),
            }),
            "with sentinels, which judge no correction",
          ),
        ),
      ),
    ),
  );
}

/** Return a heading of the table that sorts by its column. */
function sorter(key, label, note) {
  const sorted = chosen.order === key && (chosen.descending ? "descending" : "ascending");
  const sort = () => {
    chosen.descending = chosen.order === key ? !chosen.descending : key !== "metric";
    chosen.order = key;
    drawAll();
  };
  return el(
    "th",
    { scope: "col", "aria-sort": sorted },
    el("button", { class: "sorter", onclick: sort }, label),
    note && el("small", {}, note),
  );
}

function drawTable() {
  const shown = metrics();
  const head = columns();
  // Ends of the axis of a column; sentinels do not stretch it.
  const ranges = new Map(
    head.map((column) => {
      const drawn = shown.filter(([, about]) => !about.sentinel).map(([metric]) => estimate(metric, column));
      const known = finite(drawn.filter(Boolean).flatMap((each) => [each[0], ...(interval(each) ?? [])]));
      return [column, known.length ? [Math.min(...known), Math.max(...known)] : [-1, 1]];
    }),
  );
  const best = new Map(
    head.map((column) => {
      const honest = shown.filter(
        ([metric, about]) => !about.sentinel && !cells.get(`${metric} ${column}`)?.trained,
      );
      const values = finite(honest.map(([metric]) => estimate(metric, column)?.[0] ?? null));
      // One metric alone is not the best.
      return [column, values.length > 1 ? Math.max(...values) : null];
    }),
  );
  const rows = shown.map(([metric, about]) =>
    el(
      "tr",
      { class: about.sentinel && "quiet" },
      el("th", { scope: "row" }, metric.replaceAll(/[([=]|, /g, "$&\u200b"), el("small", {}, facts(about))),
      head.map((column) => figure(metric, column, ranges.get(column), best.get(column), about.sentinel)),
      el("td", {}, about.speed === undefined ? "–" : count(Math.round(about.speed))),
    ),
  );
  fill(
    place.table,
    showCut(
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Agreement with people" },
        el(
          "table",
          { class: "board" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              sorter("metric", "metric"),
              head.map((column) => sorter(column, ...column.split(" "))),
              sorter("speed", "speed", "outputs a second, one core"),
            ),
          ),
          el("tbody", {}, rows),
        ),
      ),
    ),
    shown.length === 0 && el("p", {}, "No metric passes these filters."),
    head.length === 0 && el("p", {}, "This benchmark does not have this measure: choose another agreement."),
    el(
      "p",
      { class: "remark" },
      "Bars are 95 % intervals: over systems where a benchmark has eight or more, else over sentences. ",
      "† The metric's evaluator was trained on this benchmark, so its figures there mean nothing. ",
      `${BOARD.protocol.written}, ${BOARD.protocol.resamples} resamples.`,
    ),
  );
}

/** Return whether a licence forbids a use: one without commerce, or one that is stated nowhere. */
const restricted = (about) => /-NC-|LicenseRef-/.test(about.licence);

const facts = (about) =>
  [
    about.references ? "references" : "no references",
    about.language === "any" ? "any language" : about.language,
    about.sentinel ? "sentinel" : restricted(about) ? "research only" : "",
  ]
    .filter(Boolean)
    .join(" · ");

function figure(metric, column, range, best, quiet) {
  const found = estimate(metric, column);
  if (!found) return el("td", {}, "–");
  const trained = cells.get(`${metric} ${column}`).trained;
  const ends = interval(found);
  return el(
    "td",
    { class: trained ? "trained" : found[0] === best && "best" },
    el(
      "button",
      { class: "value", onclick: () => open(metric, column), title: `${metric} on ${column}` },
      show(found[0], 3),
      trained && " †",
    ),
    ends && !quiet && intervalBar(found[0], ends, range),
  );
}

function drawScatter() {
  const column = ["speed", "metric"].includes(chosen.order) ? columns()[0] : chosen.order;
  const baseOf = (name) => name.split("(")[0];
  const best = new Map();
  metrics()
    .filter(([metric, about]) => about.speed && (!about.sentinel || metric === "edit-count"))
    .filter(([metric]) => column && estimate(metric, column))
    .filter(([metric]) => !cells.get(`${metric} ${column}`).trained)
    .forEach(([metric, about]) => {
      const found = estimate(metric, column);
      const name = baseOf(metric);
      if (found[0] > (best.get(name)?.y ?? -Infinity)) {
        best.set(name, { name, x: Math.log10(about.speed), y: found[0], yInterval: interval(found) });
      }
    });
  const points = [...best.values()];
  const [benchmark, human] = (column ?? " ").split(" ");
  const names = ["outputs a second of one core", `${MEASURES[chosen.measure][0]}, ${benchmark} (${human})`];
  const powers = (value) => (Number.isInteger(value) ? count(10 ** value) : "");
  fill(
    place.scatter,
    el("h3", {}, "Agreement and speed"),
    points.length ? scatterChart("Agreement and speed", points, names, powers) : el("p", {}, "No metric is left."),
    el(
      "p",
      { class: "remark" },
      "The column by which the table is sorted; of each metric, the best variant that was not trained on it. ",
      "edit-count judges no correction: a metric below it has shown little.",
    ),
  );
}

/** Show everything about a cell, and keep it in the address. */
function open(metric, column) {
  history.replaceState(null, "", `#${encodeURIComponent(`${metric} ${column}`)}`);
  drawCell(metric, column);
}

function close() {
  history.replaceState(null, "", location.pathname);
  place.cell.className = "";
  fill(place.cell);
}

function drawCell(metric, column) {
  const cell = cells.get(`${metric} ${column}`);
  const about = BOARD.metrics[metric];
  const benchmark = BOARD.benchmarks[cell.benchmark];
  const shown = (ends) => (ends ? `[${show(ends[0], 3)}, ${show(ends[1], 3)}]` : "–");
  const learned = Object.entries(about.learned).map(([name, data]) => `${name}, which learned from ${data.join(", ")}`);
  place.cell.className = "card cell";
  fill(
    place.cell,
    el("button", { class: "close", onclick: close }, "Close"),
    el("h3", {}, `${metric} on ${cell.benchmark}, against ${cell.human}`),
    cell.trained && el("p", { class: "notice" }, "Its evaluator was trained on this benchmark: ignore the figures."),
    table(
      "Measures",
      ["measure", "value", "over systems", "over sentences"],
      Object.entries(cell.measures).map(([name, [value, systems, sentences]]) => [
        NAMES[name],
        show(value, 3),
        shown(systems),
        shown(sentences),
      ]),
    ),
    el(
      "ul",
      {},
      el("li", {}, `${benchmark.about}: ${benchmark.humans[cell.human]}.`),
      benchmark.notices.map((notice) => el("li", {}, notice.replaceAll("`", ""))),
      el("li", {}, `Trained, tuned or selected on: ${about.origin.replaceAll("`", "")}.`),
      learned.map((text) => el("li", {}, `Evaluator: ${text}.`)),
      el("li", {}, `Licence: ${about.licence}.`),
    ),
    el("code", { class: "command" }, command(cell)),
  );
}

/** Return the command that computes a cell. */
function command(cell) {
  const { resamples, dtype } = BOARD.protocol;
  const aggregation = chosen.measure.startsWith("trueskill") ? " --aggregation trueskill" : "";
  return (
    `learnedgec meta --benchmark '${cell.benchmark}' --human ${cell.human} --metric "${cell.metric}"` +
    ` --measure all --resamples ${resamples} --dtype ${dtype}${aggregation}`
  );
}

function drawAll() {
  const fields = () => [...root.querySelectorAll("select, input, .sorter")];
  const focused = fields().indexOf(root.activeElement);
  drawControls();
  drawTable();
  drawScatter();
  // The field that had the focus was drawn anew.
  fields()[focused]?.focus();
}

drawAll();
const linked = cells.get(decodeURIComponent(location.hash.slice(1)));
if (linked) drawCell(linked.metric, columnOf(linked));
