// A benchmark's meta-evaluation: agreement with people, its plots, and the largest disagreements.

const MEASURE_NAMES = {
  pearson: "Pearson r",
  spearman: "Spearman ρ",
  kendall: "Kendall τ",
  pairwise_accuracy: "pairwise accuracy",
  soft_pairwise_accuracy: "soft pairwise accuracy",
  partial_pearson: "r beyond edit count",
  partial_spearman: "ρ beyond edit count",
  sentence_accuracy: "sentence accuracy",
  sentence_kendall: "sentence Kendall τ",
  sentence_accuracy_equal_edits: "accuracy at equal edit counts",
  tie_calibrated_accuracy: "tie-calibrated accuracy",
};
const MAIN = [
  "pearson",
  "spearman",
  "partial_pearson",
  "sentence_accuracy",
  "sentence_accuracy_equal_edits",
  "segment_pearson",
  "grouped_kendall",
];
const measureName = (name) => MEASURE_NAMES[name] ?? name.replaceAll("_", " ");

function showJudgements(report, root, explorer) {
  for (const evaluation of report.evaluations) {
    add(
      root,
      el("h3", { class: "part" }, `${evaluation.benchmark}: people's ${evaluation.human}`),
      agreementCard(evaluation),
      scatterCard(evaluation),
      forestCard(evaluation),
      evaluation.metrics.some((each) => each.windows.pearson) && windowCard(evaluation),
      evaluation.human_wins.flat().some((value) => value !== null) && peopleCard(evaluation),
      misjudgedCard(report, evaluation, explorer),
    );
  }
}

function agreementCard(evaluation) {
  const place = el("div", {});
  const names = [...new Set(evaluation.metrics.flatMap((each) => Object.keys(each.estimates)))];
  const render = (which) => {
    const chosen = which === "all" ? names : names.filter((name) => MAIN.includes(name));
    fill(
      place,
      table(
        "Agreement with people",
        ["metric", ...chosen.map(measureName)],
        evaluation.metrics.map((each) => [
          el("th", { scope: "row" }, each.metric, each.sentinel && [" ", el("span", { class: "tag" }, "sentinel")]),
          ...chosen.map((name) => {
            const found = each.estimates[name];
            if (!found) return el("td", { class: "number" }, "–");
            const bounds = found.over_systems.includes(null) ? found.over_sentences : found.over_systems;
            const title =
              `n = ${count(found.count)} ${found.unit}; over systems ` +
              `[${found.over_systems.map((x) => show(x, 2)).join(", ")}], over sentences ` +
              `[${found.over_sentences.map((x) => show(x, 2)).join(", ")}]`;
            return el(
              "td",
              { class: "number", title },
              show(found.value, 3),
              " ",
              bounds.includes(null)
                ? ""
                : el("span", { class: "interval" }, `[${bounds.map((x) => show(x, 2)).join(", ")}]`),
            );
          }),
        ]),
        { class: "matrix" },
      ),
    );
  };
  render("main");
  return card(
    "Agreement",
    choice(
      "measures",
      [
        ["main", "main measures"],
        ["all", "all measures"],
      ],
      "main",
      render,
    ),
    place,
    el(
      "p",
      { class: "remark" },
      "Brackets hold the interval over systems if there is one, otherwise the interval over sentences. A " +
        "metric is informative only if it agrees with people better than the sentinels do.",
    ),
  );
}

function scatterCard(evaluation) {
  const place = el("div", {});
  const render = (m) => {
    const entry = evaluation.metrics[m];
    const points = evaluation.systems
      .map((name, s) => ({
        name,
        x: evaluation.human_scores[s],
        y: entry.scores[s],
        xInterval: evaluation.human_intervals[s],
        yInterval: entry.score_intervals[s],
      }))
      .filter((point) => point.x !== null && point.y !== null);
    fill(
      place,
      scatterChart(`${entry.metric} against people`, points, [`people (${evaluation.human})`, entry.metric]),
      el(
        "details",
        {},
        el("summary", {}, "Show as a table"),
        table(
          "Scores of systems",
          ["system", `people (${evaluation.human})`, entry.metric],
          evaluation.order.map((s) => [
            evaluation.systems[s],
            el("td", { class: "number" }, show(evaluation.human_scores[s])),
            el("td", { class: "number" }, show(entry.scores[s])),
          ]),
        ),
      ),
    );
  };
  render(0);
  return card(
    "Scores of systems",
    choice(
      "metric",
      evaluation.metrics.map((each, m) => [m, each.metric]),
      0,
      (m) => render(Number(m)),
    ),
    place,
  );
}

function forestCard(evaluation) {
  const drawn = evaluation.metrics.filter((each) => !each.sentinel || each.metric === "edit-count");
  const charts = ["pearson", "spearman", "sentence_accuracy", "grouped_kendall"]
    .filter((name) => drawn.every((each) => each.estimates[name]))
    .map((name) =>
      forestChart(
        measureName(name),
        drawn.map((each) => {
          const { value, over_sentences: thick, over_systems: thin } = each.estimates[name];
          return { name: each.metric, value, thick, thin, quiet: each.sentinel };
        }),
      ),
    );
  return card(
    "Intervals",
    el("div", { class: "charts" }, charts),
    el("p", { class: "remark" }, "Thick: over sentences. Thin: over systems."),
  );
}

function windowCard(evaluation) {
  const drawn = evaluation.metrics.filter(
    (each) => (!each.sentinel || each.metric === "edit-count") && each.windows.pearson,
  );
  const width = evaluation.window;
  const places = drawn[0].windows.pearson.values.map((_, place) => `${place + 1}–${place + width}`);
  const charts = ["pearson", "spearman"].map((kind) =>
    lineChart(
      `${measureName(kind)} within windows of ${width} systems`,
      places,
      drawn.map((each) => ({ name: each.metric, ...each.windows[kind] })),
      [`ranks of the ${width} systems, by people`, measureName(kind)],
    ),
  );
  return card("Among systems of similar quality", el("div", { class: "charts" }, charts));
}

function peopleCard(evaluation) {
  const names = evaluation.order.map((s) => evaluation.systems[s]);
  return card(
    "Which systems people preferred",
    table(
      "Comparisons won by the system of the row, %",
      ["row won, %", ...names],
      evaluation.order.map((one) => [
        evaluation.systems[one],
        ...evaluation.order.map((other) => {
          const wins = evaluation.human_wins;
          const [won, lost] = [wins[one][other], wins[other][one]];
          return one === other || won === null
            ? el("td", { class: "heat self" }, "–")
            : heat(0.5 + (won - lost) / 2, show(100 * won, 0));
        }),
      ]),
      { class: "matrix" },
    ),
    el("p", { class: "remark" }, "The remaining comparisons are losses or ties."),
  );
}

function misjudgedCard(report, evaluation, explorer) {
  const place = el("div", {});
  const render = (m) => {
    const { kind, entries } = evaluation.misjudged[m];
    const link = (n, words) => {
      const address = new URLSearchParams({ sentence: n + 1, metric: m, ...words });
      return el("a", { href: `#sentences?${address}` }, `sentence ${count(n + 1)}`);
    };
    const snippet = (n) => shorten(report.sentences.source[n], 90);
    const tables = {
      comparisons: () =>
        table(
          "Pairs that the metric and people order differently",
          [
            "sentence",
            "people prefer",
            "over",
            "votes for, tied, against",
            "metric's difference, percentiles",
            "such pairs of the sentence",
            "source",
          ],
          entries.map(({ sentence, systems: [better, worse], votes, gap, pairs }) => [
            link(sentence, { a: better, b: worse }),
            report.systems[better],
            report.systems[worse],
            votes.join(", "),
            el("td", { class: "number" }, show(gap, 1)),
            el("td", { class: "number" }, count(pairs)),
            snippet(sentence),
          ]),
        ),
      ratings: () =>
        table(
          "Outputs whose score and rating differ most",
          ["sentence", "system", "rating", "score − rating, percentiles", "source"],
          entries.map(({ sentence, system, rating, gap }) => [
            link(sentence, { a: system }),
            report.systems[system],
            el("td", { class: "number" }, show(rating, 2)),
            el("td", { class: "number" }, signed(gap, 1)),
            snippet(sentence),
          ]),
        ),
      none: () => el("p", {}, "In this benchmark people judged systems, not sentences."),
    };
    fill(place, entries.length || kind === "none" ? tables[kind]() : el("p", {}, "None."));
  };
  render(0);
  return card(
    "Largest disagreements with people",
    choice(
      "metric",
      report.metrics.map((metric, m) => [m, metric.short]),
      0,
      (m) => render(Number(m)),
    ),
    place,
    el(
      "p",
      { class: "remark" },
      "The fifty sentences with the clearest disagreement; a link opens the sentence with both systems side by side.",
    ),
  );
}
