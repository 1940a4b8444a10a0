// Error types and operations, and the effect of length and of the number of edits on a score.

const MEASURES = {
  f: "F",
  precision: "precision",
  recall: "recall",
  counts: "tp / fp / fn",
  all: "P, R and F",
};

// A type with fewer gold edits than this is grey: each of them moves its values by much.
const FEW = 5;

function showErrors(report, root) {
  const { errors } = report;
  const state = { tier: "category", measure: "f", system: 0 };
  const place = el("div", {});
  const operations = el("div", {});
  const render = () => {
    const kinds = Object.entries(errors.tiers[state.tier]);
    const rows = kinds.map(([kind, systems]) => {
      const gold = Math.max(...systems.map(([tp, , fn]) => tp + fn));
      return [
        kind || "no type",
        el("td", { class: "number muted" }, count(gold)),
        ...systems.map((each) => typeCell(each, state.measure, errors.beta, gold < FEW)),
      ];
    });
    fill(
      place,
      table(`${MEASURES[state.measure]} by error type`, ["type", "gold", ...report.systems], rows, {
        class: "matrix",
      }),
    );
    const counts = errors.operations[state.system];
    const names = ["missing", "replacement", "unnecessary", "nothing"];
    fill(
      operations,
      table(
        "Operations of the reference against those of the system",
        ["reference ↓ system →", ...names],
        counts.map((row, one) => {
          const sum = row.reduce((a, b) => a + b, 0);
          return [
            names[one],
            ...row.map((value, other) =>
              one === 3 && other === 3
                ? el("td", { class: "heat self" }, "–")
                : heat(sum ? 0.5 + value / sum / 2 : null, [
                    count(value),
                    sum ? el("span", { class: "muted" }, ` ${Math.round((100 * value) / sum)} %`) : null,
                  ]),
            ),
          ];
        }),
        { class: "matrix" },
      ),
    );
  };
  const change =
    (name, number = false) =>
    (value) => {
      state[name] = number ? Number(value) : value;
      render();
    };
  add(
    root,
    card(
      "By error type",
      el(
        "p",
        { class: "remark" },
        `Counts of ${errors.metric}: correct and missed edits count under the type in the reference, wrong ` +
          `edits under their own type. F is F${errors.beta}. A type with fewer than ${FEW} gold edits is grey.`,
      ),
      el(
        "div",
        { class: "controls" },
        choice(
          "types",
          [
            ["operation", "operation (M, R, U)"],
            ["category", "category (NOUN:NUM)"],
            ["type", "type (R:NOUN:NUM)"],
          ],
          state.tier,
          change("tier"),
        ),
        choice("show", Object.entries(MEASURES), state.measure, change("measure")),
      ),
      place,
    ),
    card(
      "Confusions of operations",
      el(
        "p",
        { class: "remark" },
        "Edits of the reference (rows) and edits of the system that touch the same words (columns). The last " +
          "row counts edits of the system where the reference has none, the last column errors that the system " +
          "did not edit.",
      ),
      report.systems.length > 1 &&
        choice(
          "system",
          report.systems.map((name, s) => [s, name]),
          0,
          change("system", true),
        ),
      operations,
    ),
  );
  render();
}

function typeCell([tp, fp, fn], measure, beta, few) {
  if (tp + fp + fn === 0) return el("td", { class: "heat self" }, "–");
  const precision = tp + fp ? tp / (tp + fp) : 1;
  const recall = tp + fn ? tp / (tp + fn) : 1;
  const below = beta * beta * precision + recall;
  const f = below ? ((1 + beta * beta) * precision * recall) / below : 0;
  const title = `tp ${tp}, fp ${fp}, fn ${fn}; P ${show(precision, 3)}, R ${show(recall, 3)}, F ${show(f, 3)}`;
  if (measure === "counts") return el("td", { class: "number", title }, `${tp} / ${fp} / ${fn}`);
  const value = { f, precision, recall, all: f }[measure];
  const text = measure === "all" ? [precision, recall, f].map((each) => show(each, 2)).join(" ") : show(value, 2);
  return few ? el("td", { class: "muted", title }, text) : heat(0.5 + value / 2, text, { title });
}

function showEffects(report, root) {
  const { effects } = report;
  const state = { metric: 0, by: "length" };
  const place = el("div", {});
  const render = () => {
    const { labels, means, counts } = effects[state.by];
    const many = report.systems.length > SERIES;
    const order = report.overview.rankings[state.metric].order;
    // Of many systems the first three and the last have colours; the others are grey.
    const told = new Set(many ? [...order.slice(0, 3), order.at(-1)] : order);
    const series = [...order.filter((s) => told.has(s)), ...order.filter((s) => !told.has(s))].map((s) => ({
      name: report.systems[s],
      values: means[state.metric][s],
      quiet: !told.has(s),
    }));
    const named = { length: "tokens of the source", edits: "edited tokens" }[state.by];
    fill(
      place,
      lineChart(`Mean ${report.metrics[state.metric].short} by ${named}`, labels, series, [
        named,
        report.metrics[state.metric].short,
      ]),
      el(
        "details",
        {},
        el("summary", {}, "Show as a table"),
        table(
          `Mean score by ${named}`,
          ["system", ...labels],
          report.systems.map((name, s) => [
            name,
            ...labels.map((_, k) =>
              el("td", { class: "number", title: `${counts[s][k]} outputs` }, show(means[state.metric][s][k])),
            ),
          ]),
        ),
      ),
    );
  };
  add(
    root,
    card(
      "Mean score of a sentence",
      el(
        "div",
        { class: "controls" },
        choice(
          "metric",
          report.metrics.map((metric, m) => [m, metric.short]),
          0,
          (m) => {
            state.metric = Number(m);
            render();
          },
        ),
        choice(
          "by",
          [
            ["length", "length of the source"],
            ["edits", "number of edited tokens"],
          ],
          "length",
          (by) => {
            state.by = by;
            render();
          },
        ),
      ),
      place,
    ),
    card(
      "Correlation of scores with length and edits",
      el(
        "p",
        { class: "remark" },
        "Spearman's ρ of each metric with the length of the source and with the sentinel edit-count, over " +
          "all outputs; and of the systems' mean scores with their mean number of edits. A metric with ρ near " +
          "±1 may measure little else.",
      ),
      table(
        "Correlation with sentinels",
        ["metric", "length", "edits", "edits, over systems"],
        effects.correlation.map((each, m) => [
          report.metrics[m].short,
          ...["length", "edits", "systems"].map((name) =>
            heat(each[name] === null ? null : 0.5 + each[name] / 2, show(each[name], 2)),
          ),
        ]),
        { class: "matrix" },
      ),
    ),
  );
  render();
}
