// Charts in SVG: dots with intervals, lines, scatter plots. Series differ by colour, dash and marker.

const MARKERS = [
  (x, y) => draw("circle", { cx: x, cy: y, r: 3.5 }),
  (x, y) => draw("rect", { x: x - 3.2, y: y - 3.2, width: 6.4, height: 6.4 }),
  (x, y) => draw("path", { d: `M${x} ${y - 4.2}L${x + 4} ${y + 3.2}H${x - 4}Z` }),
  (x, y) => draw("path", { d: `M${x} ${y - 4.6}L${x + 4.6} ${y}L${x} ${y + 4.6}L${x - 4.6} ${y}Z` }),
  (x, y) => draw("path", { d: `M${x} ${y + 4.2}L${x + 4} ${y - 3.2}H${x - 4}Z` }),
  (x, y) => draw("path", { d: `M${x - 4} ${y}H${x + 4}M${x} ${y - 4}V${y + 4}`, class: "open" }),
  (x, y) =>
    draw("path", {
      d: `M${x - 3.4} ${y - 3.4}L${x + 3.4} ${y + 3.4}M${x - 3.4} ${y + 3.4}L${x + 3.4} ${y - 3.4}`,
      class: "open",
    }),
];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const SERIES = 7;

const finite = (values) => values.filter((value) => value !== null && Number.isFinite(value));

/** Return a function from values to pixels, with round ticks, for a range that holds all values. */
function scale(values, start, end, wanted = 5) {
  const known = finite(values);
  let low = known.length ? Math.min(...known) : 0;
  let high = known.length ? Math.max(...known) : 1;
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw);
  [low, high] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  const place = (value) => start + ((value - low) / (high - low)) * (end - start);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  place.ticks = [];
  for (let tick = low; tick <= high + step / 2; tick += step) place.ticks.push([tick, show(tick, digits)]);
  return place;
}

function frame(width, height, label) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": label });
}

function axes(chart, x, y, box, names) {
  for (const [value, text] of y.ticks) {
    chart.append(
      draw("line", { class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) }),
      draw("text", { x: box.left - 6, y: y(value) + 3.5, "text-anchor": "end" }, text),
    );
  }
  for (const [value, text] of x.ticks) {
    chart.append(draw("text", { x: x(value), y: box.bottom, dy: "1.2em", "text-anchor": "middle" }, text));
  }
  chart.append(
    draw("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    draw(
      "text",
      { x: (box.left + box.right) / 2, y: box.bottom, dy: "2.6em", "text-anchor": "middle", class: "name" },
      names[0],
    ),
    draw("text", { x: 4, y: 14, class: "name" }, names[1]),
  );
}

/** Return a chart of lines over named places; a series has `name`, `values` and, where known, `intervals`. */
function lineChart(label, places, series, names) {
  const box = { left: 48, right: 508, top: 34, bottom: 230 };
  const chart = frame(520, 278, label);
  const values = series.flatMap((each) => [...each.values, ...(each.intervals ?? []).flat()]);
  const y = scale(values, box.bottom, box.top);
  const gap = (box.right - box.left - 40) / Math.max(places.length - 1, 1);
  const x = (place) => box.left + 20 + gap * place;
  x.ticks = places.map((text, place) => [place, text]);
  axes(chart, x, y, box, names);
  series.forEach((each, number) => {
    const look = `series-${each.quiet ? "quiet" : number % SERIES}`;
    const group = draw("g", { class: look });
    const known = each.values.map((value, place) => [place, value]).filter(([, value]) => value !== null);
    if (each.intervals) {
      const upper = known.map(([place]) => `${x(place)},${y(each.intervals[place][1])}`);
      const lower = known.map(([place]) => `${x(place)},${y(each.intervals[place][0])}`).reverse();
      group.append(draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
    }
    const path = known.map(([place, value], i) => `${i ? "L" : "M"}${x(place)} ${y(value)}`).join("");
    group.append(draw("path", { class: "line", d: path, "stroke-dasharray": DASHES[number % DASHES.length] }));
    if (!each.quiet) {
      for (const [place, value] of known) {
        const point = MARKERS[number % MARKERS.length](x(place), y(value));
        point.append(draw("title", {}, `${each.name}, ${places[place]}: ${show(value)}`));
        group.append(point);
      }
    }
    chart.append(group);
  });
  return el("figure", {}, chart, legend(series.filter((each) => !each.quiet)));
}

function legend(series) {
  return el(
    "figcaption",
    { class: "legend" },
    series.map((each, number) =>
      el(
        "span",
        {},
        draw(
          "svg",
          { viewBox: "0 0 28 12", class: `swatch series-${number % SERIES}`, "aria-hidden": "true" },
          draw("path", { class: "line", d: "M1 6H27", "stroke-dasharray": DASHES[number % DASHES.length] }),
          MARKERS[number % MARKERS.length](14, 6),
        ),
        each.name,
      ),
    ),
  );
}

/** Return a scatter plot; a point has `name`, `x`, `y` and, where known, `xInterval` and `yInterval`. */
function scatterChart(label, points, names, tick = (value, text) => text) {
  const box = { left: 52, right: 500, top: 34, bottom: 300 };
  const chart = frame(520, 348, label);
  const spread = (key) => points.flatMap((p) => [p[key], ...(p[`${key}Interval`] ?? [])]);
  const x = scale(spread("x"), box.left + 10, box.right - 10);
  const y = scale(spread("y"), box.bottom - 8, box.top + 4);
  x.ticks = x.ticks.map(([value, text]) => [value, tick(value, text)]);
  axes(chart, x, y, box, names);
  // Names are larger on phones.
  const letter = matchMedia("(max-width: 40rem)").matches ? 8 : 6;
  const taken = points.map((p) => [x(p.x) - 4, y(p.y) - 4, x(p.x) + 4, y(p.y) + 4]);
  for (const point of points) {
    const group = draw("g", { class: "series-0" });
    const [px, py] = [x(point.x), y(point.y)];
    const [xs, ys] = [point.xInterval ?? [null], point.yInterval ?? [null]];
    if (!xs.includes(null))
      group.append(draw("line", { class: "reach", x1: x(xs[0]), x2: x(xs[1]), y1: py, y2: py }));
    if (!ys.includes(null))
      group.append(draw("line", { class: "reach", x1: px, x2: px, y1: y(ys[0]), y2: y(ys[1]) }));
    const mark = MARKERS[0](px, py);
    mark.append(draw("title", {}, `${point.name}: ${names[0]} ${show(point.x)}, ${names[1]} ${show(point.y)}`));
    group.append(mark);
    chart.append(group);
  }
  for (const point of points) {
    const [px, py] = [x(point.x), y(point.y)];
    const spot = freeSpot(px, py, letter * point.name.length, taken, box);
    taken.push(spot);
    // A line leads from a name that found no room to its point.
    const [nx, ny] = [Math.min(Math.max(px, spot[0]), spot[2]), Math.min(Math.max(py, spot[1]), spot[3])];
    if (Math.hypot(nx - px, ny - py) > 10)
      chart.append(draw("line", { class: "axis", x1: px, y1: py, x2: nx, y2: ny }));
    chart.append(draw("text", { x: spot[0], y: spot[3] - 2, class: "point-name" }, point.name));
  }
  return el("figure", {}, chart);
}

/** Return the box beside a point, for its name, that covers the least of the chart. */
function freeSpot(px, py, width, taken, box) {
  let best = null;
  for (const distance of [6, 13, 22]) {
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, -1],
      [0, 1],
      [1, -1],
      [-1, -1],
      [1, 1],
      [-1, 1],
    ]) {
      const left = dx > 0 ? px + distance : dx < 0 ? px - distance - width : px - width / 2;
      const top = py - 6 + dy * (distance + 3);
      const spot = [left, top, left + width, top + 12];
      const outside = left < box.left || left + width > 520 || top < 12 || top + 12 > box.bottom;
      const cover = taken.reduce((sum, other) => sum + overlap(spot, other), 0) + distance / 10 + (outside ? 1e4 : 0);
      if (best === null || cover < best[0]) best = [cover, spot];
    }
  }
  return best[1];
}

const overlap = (one, other) =>
  Math.max(0, Math.min(one[2], other[2]) - Math.max(one[0], other[0])) *
  Math.max(0, Math.min(one[3], other[3]) - Math.max(one[1], other[1]));

/** Return a chart of predicted probabilities and observed frequencies; on the dashed line they are equal. */
function reliabilityChart(bins, label) {
  const box = { left: 52, right: 360, top: 34, bottom: 300 };
  const chart = frame(380, 348, label);
  const x = scale([0, 1], box.left + 4, box.right - 4);
  const y = scale([0, 1], box.bottom, box.top);
  axes(chart, x, y, box, ["predicted probability", "share that people preferred"]);
  chart.append(draw("line", { class: "axis", x1: x(0), y1: y(0), x2: x(1), y2: y(1), "stroke-dasharray": "4 4" }));
  const group = draw("g", { class: "series-0" });
  for (const { predicted, preferred, low, high, count: outputs } of bins) {
    const mark = MARKERS[0](x(predicted), y(preferred));
    mark.append(
      draw(
        "title",
        {},
        `predicted ${show(predicted, 2)}, preferred ${show(preferred, 2)} [${show(low, 2)}, ` +
          `${show(high, 2)}] of ${count(outputs)}`,
      ),
    );
    group.append(draw("line", { class: "reach", x1: x(predicted), x2: x(predicted), y1: y(low), y2: y(high) }), mark);
  }
  chart.append(group);
  return el(
    "figure",
    { class: "square" },
    chart,
    el("figcaption", { class: "remark" }, `${label}; bars are 95 % intervals.`),
  );
}

/** Return estimates as dots with two intervals each: thick over sentences, thin over systems. */
function forestChart(label, rows) {
  const left = Math.min(180, 20 + 6.2 * Math.max(...rows.map((row) => row.name.length)));
  const box = { left, right: 508, top: 8, bottom: 16 + 22 * rows.length };
  const chart = frame(520, box.bottom + 48, label);
  const x = scale(
    rows.flatMap((row) => [row.value, ...row.thick, ...row.thin]),
    box.left + 6,
    box.right - 6,
  );
  const y = (place) => 20 + 22 * place;
  y.ticks = [];
  axes(chart, x, y, box, [label, ""]);
  rows.forEach((row, place) => {
    const group = draw("g", { class: row.quiet ? "series-quiet" : "series-0" });
    for (const [kind, bounds] of [
      ["thin", row.thin],
      ["thick", row.thick],
    ]) {
      if (!bounds.includes(null))
        group.append(
          draw("line", { class: `reach ${kind}`, x1: x(bounds[0]), x2: x(bounds[1]), y1: y(place), y2: y(place) }),
        );
    }
    if (row.value !== null) {
      const mark = MARKERS[row.quiet ? 6 : 0](x(row.value), y(place));
      mark.append(draw("title", {}, `${row.name}: ${show(row.value, 3)}`));
      group.append(mark);
    }
    chart.append(
      group,
      draw("text", { x: box.left - 8, y: y(place) + 4, "text-anchor": "end" }, shorten(row.name, 27)),
    );
  });
  return el("figure", {}, chart);
}

const shorten = (text, length) => (text.length <= length ? text : text.slice(0, length - 1) + "…");

/** Return a small picture of an interval within the range of all. */
function intervalBar(value, [low, high], range) {
  const x = scaleWithin(range, 2, 98);
  return draw(
    "svg",
    { viewBox: "0 0 100 10", class: "interval-bar", "aria-hidden": "true", preserveAspectRatio: "none" },
    draw("line", { class: "rail", x1: 2, x2: 98, y1: 5, y2: 5 }),
    draw("line", { class: "span", x1: x(low), x2: x(high), y1: 5, y2: 5 }),
    draw("line", { class: "dot", x1: x(value), x2: x(value), y1: 1, y2: 9 }),
  );
}

function scaleWithin([low, high], start, end) {
  return (value) => (high === low ? (start + end) / 2 : start + ((value - low) / (high - low)) * (end - start));
}
