// Sortable scores, wins between systems, and pairs of systems on which metrics disagree.

function showOverview(report) {
  const more = document.getElementById("overview-more");
  dressScores(report);
  if (report.systems.length > 1) add(more, winMatrix(report));
  if (report.meaning.some((each) => each)) add(more, meaningCard(report));
  if (report.metrics.length > 1 && report.systems.length > 1) add(more, disagreement(report));
}

/** Add intervals and sorting to the table of scores, which is readable without scripts. */
function dressScores(report) {
  const node = document.getElementById("scores");
  const body = node.tBodies[0];
  report.overview.rankings.forEach((ranking, m) => {
    const known = ranking.intervals.filter(([low]) => low !== null);
    const range = [Math.min(...known.map(([low]) => low)), Math.max(...known.map(([, high]) => high))];
    for (const row of body.rows) {
      const s = Number(row.dataset.system);
      if (ranking.intervals[s][0] === null) continue;
      row.cells[m + 1].append(intervalBar(ranking.scores[s], ranking.intervals[s], range));
    }
  });
  const value = (row, column) => (column ? -Number(row.cells[column].dataset.value) : row.cells[0].textContent);
  [...node.tHead.rows[0].cells].forEach((cell, column) => {
    const sort = () => {
      const down = cell.getAttribute("aria-sort") === (column ? "descending" : "ascending");
      for (const other of node.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down === Boolean(column) ? "ascending" : "descending");
      const rows = [...body.rows].sort((one, other) => (value(one, column) < value(other, column) ? -1 : 1));
      body.append(...(down ? rows.reverse() : rows));
    };
    fill(cell, el("button", { type: "button", class: "sorter", onclick: sort }, cell.textContent));
  });
  node.tHead.rows[0].cells[1].setAttribute("aria-sort", "descending");
}

/** Explain the scores, and show how reliable the probabilities are. */
function meaningCard(report) {
  const place = el("div", {});
  const known = report.metrics.map((metric, m) => [m, metric.short]).filter(([m]) => report.meaning[m]);
  const render = (m) => {
    const { benchmark, outputs, pairs, accuracy, reliability, sentences } = report.meaning[m];
    const order = report.overview.rankings[m].order;
    fill(
      place,
      el(
        "ul",
        {},
        order.map((s) => el("li", {}, el("strong", {}, report.systems[s]), `: ${sentences[s]}`)),
      ),
      el(
        "p",
        { class: "remark" },
        `The reference consists of ${count(outputs)} outputs on ${benchmark} that change their source. ` +
          `People rated ${count(pairs)} of them above or below the source; the sign of the gain in ` +
          `${report.metrics[m].short} is correct for ${show(100 * accuracy, 0)} % of these. The share above the ` +
          "source is estimated from the gain, for similar systems, most of whose changes are improvements.",
      ),
      reliabilityChart(reliability, `Reliability on held-out sources of ${benchmark}`),
    );
  };
  render(known[0][0]);
  return card(
    known.length > 1 ? "What the scores mean" : `What the scores of ${known[0][1]} mean`,
    known.length > 1 && choice("metric", known, known[0][0], (m) => render(Number(m))),
    place,
  );
}

/** Return the p-value of two systems' difference by a metric, after Holm's correction. */
function difference(report, m, one, other) {
  const { p, p_adjusted: adjusted, tests } = report.overview.rankings[m];
  // Only a share of random draws has a lowest value.
  const drawn = ["paired-bootstrap", "paired-permutation"].includes(tests[one][other]);
  const bound = drawn && p[one][other] <= 1 / (report.provenance.resamples + 1) + 1e-12;
  return pValue(adjusted[one][other], bound, 1 - report.level - 1e-12);
}

function winMatrix(report) {
  const place = el("div", {});
  const render = (m) => {
    const ranking = report.overview.rankings[m];
    const names = ranking.order.map((s) => report.systems[s]);
    const rows = ranking.order.map((one) => [
      report.systems[one],
      ...ranking.order.map((other) => {
        if (one === other) return el("td", { class: "heat self" }, "–");
        const [won, lost] = [ranking.wins[one][other], ranking.wins[other][one]];
        const adjusted = ranking.p_adjusted[one][other];
        const significant = adjusted !== null && adjusted < 1 - report.level - 1e-12;
        const title =
          `${report.systems[one]} above ${report.systems[other]} on ${show(100 * won, 1)} % of the sentences, ` +
          `below on ${show(100 * lost, 1)} %; ${difference(report, m, one, other)}`;
        return heat(
          0.5 + (won - lost) / 2,
          [
            show(100 * won, 0),
            significant && el("span", { class: "sure", "aria-hidden": "true" }, "*"),
            heard(significant ? ", significant" : ""),
          ],
          { title },
        );
      }),
    ]);
    fill(
      place,
      table("Wins of the row against the column", ["row above column, %", ...names], rows, { class: "matrix" }),
    );
  };
  render(0);
  const wins = card(
    "Wins between systems",
    report.metrics.length > 1 &&
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
      "Percentage of sentences on which the system of the row scores higher than that of the column; the " +
        "others are losses or ties. * The difference of the corpus scores is significant.",
    ),
  );
  wins.classList.add("wide");
  return wins;
}

function disagreement(report) {
  const labels = report.metrics.map((metric) => metric.short);
  const p = (m, one, other) => difference(report, m, one, other);
  const { agreement, conflicts } = report.overview;
  const matrix = table(
    "Agreement of metrics on the order of systems",
    ["Kendall's τ", ...labels],
    agreement.map((row, one) => [
      labels[one],
      ...row.map((tau, other) =>
        one === other
          ? el("td", { class: "heat self" }, "–")
          : heat(tau === null ? null : (tau + 1) / 2, show(tau, 2)),
      ),
    ]),
    { class: "matrix" },
  );
  const real = report.metrics.map((metric) => !metric.sentinel);
  const told = conflicts.filter(({ metrics: [one, other] }) => real[one] && real[other]);
  const shown = told.length ? told : conflicts;
  const sure = shown.filter((each) => each.significant).length;
  const sentence = !conflicts.length
    ? "All metrics put the systems in the same order."
    : `In ${count(shown.length)} case${shown.length === 1 ? "" : "s"} two ` +
      `metrics${told.length ? "" : ", one of them a sentinel,"} order two systems differently; ` +
      `${sure ? count(sure) : "none"} of them ${sure === 1 ? "is" : "are"} significant by both metrics.`;
  const list = el(
    "ul",
    {},
    shown
      .slice(0, 12)
      .map(({ metrics: [one, other], systems: [better, worse], significant }) =>
        el(
          "li",
          {},
          el("strong", {}, labels[one]),
          ` puts ${report.systems[better]} above ${report.systems[worse]} (${p(one, better, worse)}), `,
          el("strong", {}, labels[other]),
          ` the other way round (${p(other, better, worse)})`,
          significant ? "; both differences are significant." : ".",
        ),
      ),
    shown.length > 12 && el("li", {}, `and ${count(shown.length - 12)} more`),
  );
  return card("Where metrics disagree", el("p", {}, sentence), matrix, shown.length > 0 && list);
}
