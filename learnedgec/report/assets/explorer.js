// The sentence explorer: a list to filter and sort, of which only the visible part is drawn, and one sentence in full.

const ROW = 58;
const DEFAULTS = {
  sentence: 0,
  metric: 0,
  other: 1,
  a: 0,
  b: 1,
  lens: 0,
  sort: "number",
  down: false,
  search: "",
  type: "",
  place: "any",
  min: "",
  max: "",
  differ: false,
  disagree: false,
  rejected: false,
  types: false,
};

class Explorer {
  constructor(report, root) {
    this.report = report;
    this.texts = report.sentences;
    this.size = this.texts.source.length;
    this.base = { ...DEFAULTS, ...this.first() };
    // Without a sentence, the first of the list is shown.
    this.state = { ...this.base, sentence: -1 };
    this.shown = [];
    this.percentiles = new Map();
    this.build(root);
    this.update();
  }

  /** Return which systems and metrics are compared at first: if two are, the clearest sentences come first. */
  first() {
    const { metrics, systems, baseline } = this.report;
    const real = metrics.map((_, m) => m).filter((m) => !metrics[m].sentinel);
    const metric = real[0] ?? 0;
    const second = real[1] ?? (metric ? 0 : Math.min(1, metrics.length - 1));
    // A metric of another kind says more.
    const other = real.find((m) => metrics[m].references !== metrics[metric].references) ?? second;
    // The best system, and the next best or the baseline.
    const { order } = this.report.overview.rankings[metric];
    const b = baseline ?? order[Math.min(1, systems.length - 1)];
    const sort = systems.length < 2 ? "number" : real.length < 2 ? "difference" : "disagreement";
    const a = order.find((s) => s !== b) ?? b;
    return { metric, other, a, b, sort, down: FALLING.includes(sort) };
  }

  // -- values of a sentence --------------------------------------------------------------------

  score(m, s, n) {
    return this.texts.metrics[m].scores[s][n];
  }

  output(s, n) {
    return this.texts.outputs[n][this.texts.of[s][n]];
  }

  length(n) {
    this.lengths ??= this.texts.source.map((text) => text.split(/\s+/).filter(Boolean).length);
    return this.lengths[n];
  }

  /** Return the percentile of a score among all scores of its metric, 0 to 100; equal scores share the mean rank. */
  percentile(m, s, n) {
    if (!this.percentiles.has(m)) {
      this.percentiles.set(
        m,
        Float64Array.from(this.texts.metrics[m].scores.flat().filter((x) => x !== null)).sort(),
      );
    }
    const sorted = this.percentiles.get(m);
    const value = this.score(m, s, n);
    return value === null ? NaN : (50 * (rank(sorted, value, false) + rank(sorted, value, true))) / sorted.length;
  }

  /** Return the text that is searched, in lower case. */
  haystack(n) {
    this.haystacks ??= new Array(this.size);
    return (this.haystacks[n] ??= [
      this.texts.source[n],
      ...this.texts.outputs[n].map((o) => o.text),
      ...this.texts.references[n].map((r) => r.text),
    ]
      .join("\n")
      .toLowerCase());
  }

  // -- choice and order ----------------------------------------------------------------------------

  passes(n) {
    const { metric, other, a, b, search, type, place, min, max, differ, disagree, rejected } = this.state;
    const { texts } = this;
    if (search && !this.haystack(n).includes(this.needle)) return false;
    if (min !== "" && this.length(n) < Number(min)) return false;
    if (max !== "" && this.length(n) > Number(max)) return false;
    if (differ && texts.of[a][n] === texts.of[b][n]) return false;
    if (disagree) {
      const one = this.score(metric, a, n) - this.score(metric, b, n);
      const two = this.score(other, a, n) - this.score(other, b, n);
      if (one * two >= 0) return false;
    }
    if (rejected && !texts.metrics.some((each) => each.rejected && (each.rejected[a][n] || each.rejected[b][n])))
      return false;
    if (type !== "") {
      const has = (edits, column = 3) => edits.some((edit) => String(edit[column]) === type);
      if (place === "reference") return texts.references[n].some((reference) => has(reference.edits));
      if (place === "a") return has(this.output(a, n).edits);
      if (place === "missed") return this.lensOf(a, n) !== null && has(this.lensOf(a, n).missed);
      return (
        texts.outputs[n].some((output) => has(output.edits)) ||
        texts.references[n].some((reference) => has(reference.edits))
      );
    }
    return true;
  }

  key() {
    const { metric, other, a, b, sort } = this.state;
    const lead = (m, n) => this.percentile(m, a, n) - this.percentile(m, b, n);
    return {
      disagreement: (n) => -lead(metric, n) * lead(other, n),
      difference: (n) => Math.abs(this.score(metric, a, n) - this.score(metric, b, n)),
      number: (n) => n,
      score: (n) => this.score(metric, a, n),
      systems: (n) => this.score(metric, a, n) - this.score(metric, b, n),
      metrics: (n) => this.percentile(metric, a, n) - this.percentile(other, a, n),
      edits: (n) => this.output(a, n).edits.length,
      length: (n) => this.length(n),
    }[sort];
  }

  /** Filter and sort again, and keep showing the same sentence if it is still in the list. */
  update({ keep = true } = {}) {
    this.needle = this.state.search.toLowerCase();
    const kept = [];
    for (let n = 0; n < this.size; n += 1) if (this.passes(n)) kept.push(n);
    const key = this.key();
    const keys = new Float64Array(this.size);
    for (const n of kept) {
      const value = key(n);
      keys[n] = value === null || Number.isNaN(value) ? -Infinity : value;
    }
    const sign = this.state.down ? -1 : 1;
    kept.sort((one, two) => sign * (keys[one] - keys[two]) || one - two);
    this.shown = kept;
    this.status.textContent =
      kept.length === this.size
        ? `${count(this.size)} sentences`
        : `${count(kept.length)} of ${count(this.size)} sentences`;
    this.order.setAttribute("aria-pressed", String(this.state.down));
    this.order.textContent = this.state.down ? "↓" : "↑";
    this.space.style.height = `${kept.length * ROW}px`;
    if (!keep || !kept.includes(this.state.sentence)) {
      this.list.scrollTop = 0;
      if (kept.length) this.state.sentence = kept[0];
    }
    this.paint();
    this.detail();
  }

  set(changes) {
    const { metric } = this.state;
    Object.assign(this.state, changes);
    if (this.state.metric === this.state.other && changes.metric !== undefined) {
      // Two different metrics are compared: if the new first metric was the second, they change places.
      this.state.other = metric;
      this.form.elements.other.value = metric;
    }
    this.update();
    this.remember();
  }

  // -- the page's address ----------------------------------------------------------------------------

  /** Return the part of the address that describes the view; it counts sentences from 1. */
  address() {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(this.state)) {
      if (name === "sentence") words.set(name, value + 1);
      else if (value !== this.base[name]) words.set(name, value);
    }
    return `#sentences?${words}`;
  }

  remember() {
    history.replaceState(null, "", this.address());
  }

  /** Show the view that an address describes; unknown words and numbers out of range are ignored. */
  read(words) {
    const { report } = this;
    const limits = {
      metric: report.metrics.length,
      other: report.metrics.length,
      a: report.systems.length,
      b: report.systems.length,
      lens: this.texts.lenses.length,
    };
    // An address without a sentence shows the first one that passes the filters.
    const state = { ...this.base, sentence: -1 };
    for (const [name, text] of words) {
      if (name === "sentence") {
        const n = Number(text) - 1;
        if (Number.isInteger(n) && n >= 0 && n < this.size) state.sentence = n;
      } else if (name in limits) {
        const value = Number(text);
        if (Number.isInteger(value) && value >= 0 && value < limits[name]) state[name] = value;
      } else if (typeof DEFAULTS[name] === "boolean") state[name] = text === "true";
      else if (name in DEFAULTS) state[name] = text;
    }
    if (!Object.hasOwn(SORTS, state.sort)) state.sort = this.base.sort;
    if (words.has("sort") && !words.has("down")) state.down = FALLING.includes(state.sort);
    if (state.metric === state.other && limits.metric > 1) state.other = state.metric ? 0 : 1;
    this.state = state;
    this.controls();
    this.update();
    this.reveal(true);
  }

  // -- controls --------------------------------------------------------------------------------------

  build(root) {
    this.form = el("form", {
      class: "controls",
      "aria-label": "Choose and sort sentences",
      onsubmit: (event) => event.preventDefault(),
    });
    this.status = el("p", { role: "status", class: "status" });
    this.space = el("div", { class: "space" });
    this.list = el(
      "div",
      {
        class: "list",
        role: "listbox",
        tabindex: "0",
        "aria-label": "Sentences",
        onscroll: () => this.paint(),
        onkeydown: (event) => this.pressed(event),
        onclick: (event) => {
          const row = event.target.closest("[data-sentence]");
          if (row) this.open(Number(row.dataset.sentence));
        },
      },
      this.space,
    );
    this.pane = el("article", {
      class: "detail",
      tabindex: "-1",
      "aria-label": "Sentence",
      onkeydown: (event) => this.pressed(event),
    });
    const save = (suffix, make, type) =>
      el(
        "button",
        {
          type: "button",
          onclick: () =>
            download(
              `selection.${suffix}`,
              make(
                this.report,
                this.shown.toSorted((x, y) => x - y),
              ),
              type,
            ),
        },
        suffix.toUpperCase(),
      );
    this.controls();
    add(
      root,
      this.form,
      el(
        "div",
        { class: "bar" },
        this.status,
        el(
          "span",
          { class: "export" },
          "Save this selection as ",
          save("csv", selectionCsv, "text/csv"),
          save("m2", selectionM2, "text/plain"),
        ),
      ),
      el(
        "p",
        { class: "remark keys" },
        el("kbd", {}, "↓"),
        el("kbd", {}, "↑"),
        " or ",
        el("kbd", {}, "j"),
        el("kbd", {}, "k"),
        " for the next and the previous sentence, ",
        el("kbd", {}, "Enter"),
        " to read it, ",
        el("kbd", {}, "Esc"),
        " to return to the list, ",
        el("kbd", {}, "/"),
        " to search.",
      ),
      el("div", { class: "panes" }, this.list, this.pane),
    );
    new ResizeObserver(() => this.paint()).observe(this.list);
  }

  controls() {
    const { report, state } = this;
    const several = report.systems.length > 1;
    const metrics = report.metrics.map((metric, m) => [m, metric.short]);
    const systems = report.systems.map((name, s) => [s, name]);
    const number = (name) => (value) => this.set({ [name]: Number(value) });
    const check = (name, text) =>
      el(
        "label",
        { class: "check" },
        el("input", {
          type: "checkbox",
          checked: state[name],
          onchange: (event) => this.set({ [name]: event.target.checked }),
        }),
        text,
      );
    const amount = (name, text) =>
      el("input", {
        type: "number",
        min: "0",
        value: state[name],
        placeholder: text,
        "aria-label": `source tokens, ${text}`,
        oninput: (event) => this.set({ [name]: event.target.value }),
      });
    const types = report.types
      .map((kind, number) => [String(number), kind])
      .filter(([, kind]) => kind)
      .sort(([, one], [, other]) => (one < other ? -1 : 1));
    const sorts = Object.entries(SORTS).filter(
      ([name]) =>
        (several || !["systems", "difference", "disagreement"].includes(name)) &&
        (metrics.length > 1 || !["metrics", "disagreement"].includes(name)),
    );
    this.search = el("input", {
      type: "search",
      value: state.search,
      placeholder: "sources, outputs, …",
      oninput: (event) => this.set({ search: event.target.value }),
    });
    this.order = el("button", {
      type: "button",
      class: "order",
      "aria-label": "largest first",
      title: "largest first",
      onclick: () => this.set({ down: !this.state.down }),
    });
    fill(
      this.form,
      el("label", { class: "field wide" }, el("span", {}, "search"), this.search),
      choice("metric", metrics, state.metric, number("metric")),
      choice(several ? "system A" : "system", systems, state.a, number("a")),
      several && choice("system B", systems, state.b, number("b")),
      el(
        "div",
        { class: "pair" },
        choice("sort by", sorts, state.sort, (sort) => this.set({ sort, down: FALLING.includes(sort) })),
        this.order,
      ),
      el(
        "details",
        {
          class: "filters",
          open: this.form.querySelector("details")?.open || FILTERS.some((name) => state[name] !== this.base[name]),
        },
        el("summary", {}, "More filters and views"),
        el(
          "div",
          { class: "controls" },
          choice("error type", [["", "any"], ...types], state.type, (type) => this.set({ type })),
          choice(
            "found in",
            [
              ["any", "an output or reference"],
              ["a", "system A's output"],
              ["reference", "a reference"],
              ...(this.texts.lenses.length ? [["missed", "edits that A missed"]] : []),
            ],
            state.place,
            (place) => this.set({ place }),
          ),
          el(
            "div",
            { class: "field", role: "group", "aria-label": "tokens of the source" },
            el("span", {}, "tokens of the source"),
            el("span", { class: "pair" }, amount("min", "from"), amount("max", "to")),
          ),
          metrics.length > 1 && choice("second metric", metrics, state.other, number("other"), { name: "other" }),
          this.texts.lenses.length > 1 &&
            choice(
              "edits as found by",
              this.texts.lenses.map((lens, l) => [l, lens.name]),
              state.lens,
              number("lens"),
            ),
          el(
            "div",
            { class: "checks" },
            several && check("differ", "A and B differ"),
            several && metrics.length > 1 && check("disagree", "the two metrics disagree on A and B"),
            this.texts.metrics.some((each) => each.rejected) && check("rejected", "the metric's gate rejects A or B"),
            check("types", "show error types"),
          ),
          el(
            "button",
            {
              type: "button",
              onclick: () => {
                this.state = { ...this.base, sentence: this.state.sentence };
                this.controls();
                this.update();
                this.remember();
                this.search.focus();
              },
            },
            "Clear all",
          ),
        ),
      ),
    );
  }

  // -- the list ----------------------------------------------------------------------------------------

  /** Draw the rows that are in view, and a few around them. */
  paint() {
    const height = this.list.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 4);
    const last = Math.min(this.shown.length, Math.ceil((this.list.scrollTop + height) / ROW) + 4);
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(this.row(place));
    if (!this.shown.length) rows.push(el("p", { class: "none" }, "No sentence is left; loosen the filters."));
    fill(this.space, ...rows);
    const selected = this.space.querySelector('[aria-selected="true"]');
    if (selected) this.list.setAttribute("aria-activedescendant", selected.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  row(place) {
    const n = this.shown[place];
    const { metric, other, a, b, sentence, sort } = this.state;
    const one = this.score(metric, a, n);
    const two = this.score(metric, b, n);
    const row = el(
      "div",
      {
        role: "option",
        id: `row-${n}`,
        class: "row",
        "data-sentence": n,
        "aria-selected": String(n === sentence),
        "aria-setsize": this.shown.length,
        "aria-posinset": place + 1,
      },
      el("span", { class: "snippet" }, el("b", {}, `${n + 1} `), this.texts.source[n] || el("em", {}, "(blank)")),
      el(
        "span",
        { class: "figures" },
        a === b
          ? show(one, 3)
          : sort === "disagreement"
            ? [metric, other].map((m) => {
                const lead = this.score(m, a, n) - this.score(m, b, n);
                return [`${this.report.metrics[m].short} `, el("b", {}, winner(lead)), "  "];
              })
            : [
              `A ${show(one, 3)}  B ${show(two, 3)}  `,
              el("b", {}, winner(one - two)),
            ],
      ),
    );
    row.style.top = `${place * ROW}px`;
    return row;
  }

  /** Select a sentence; where it stands below the list, go to it. */
  open(n) {
    this.select(n);
    if (this.pane.offsetTop > this.list.offsetTop) {
      this.pane.scrollIntoView();
      this.pane.focus({ preventScroll: true });
    }
  }

  select(n, page = false) {
    this.state.sentence = n;
    this.reveal(page);
    this.detail();
    this.remember();
  }

  /** Scroll the list to the selected sentence, and the page with it if asked to. */
  reveal(page = false) {
    const place = this.shown.indexOf(this.state.sentence);
    if (place < 0) return;
    const top = place * ROW;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    const height = this.list.clientHeight;
    if (height && top + ROW > this.list.scrollTop + height) this.list.scrollTop = top + ROW - height;
    this.paint();
    if (page) this.space.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  step(by, page = false) {
    if (!this.shown.length) return;
    const place = this.shown.indexOf(this.state.sentence);
    this.select(this.shown[Math.min(this.shown.length - 1, Math.max(0, place + by))], page);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const inList = event.currentTarget === this.list;
    const steps = {
      j: 1,
      k: -1,
      ...(inList
        ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.size, End: this.size }
        : {}),
    };
    if (event.key in steps) this.step(steps[event.key], inList);
    else if (event.key === "Enter" && inList) this.pane.focus();
    else if (event.key === "Escape" && !inList) this.list.focus();
    else if (event.key === "/") this.search.focus();
    else return;
    event.preventDefault();
  }

  // -- one sentence ------------------------------------------------------------------------------------

  lensOf(s, n) {
    const lens = this.texts.lenses[this.state.lens];
    return lens ? lens.lists[n][lens.of[s][n]] : null;
  }

  /** Return the marks of a system's output: what the chosen metric found, or ERRANT's edits alone. */
  marks(s, n) {
    const found = this.lensOf(s, n);
    const names = this.report.types;
    if (!found) {
      return this.output(s, n).edits.map(([start, end, correction, type]) => ({
        start,
        end,
        correction,
        type: names[type],
        state: "plain",
      }));
    }
    return [
      ...found.edits.map(([start, end, correction, type, matched, weight]) => ({
        start,
        end,
        correction,
        type: names[type],
        state: matched ? "matched" : "unmatched",
        weight,
      })),
      ...found.rest.map(([start, end, correction, type]) => ({
        start,
        end,
        correction,
        type: names[type],
        state: "uncounted",
      })),
      ...found.missed.map(([start, end, corrections, type, weight]) => ({
        start,
        end,
        correction: corrections.join(" / "),
        type: names[type],
        state: "missed",
        weight,
      })),
    ];
  }

  detail() {
    if (!this.shown.length) {
      this.pane.replaceChildren();
      return;
    }
    const { report, texts, state } = this;
    const n = state.sentence;
    const place = this.shown.indexOf(n);
    this.pane.className = `detail${state.types ? " with-types" : ""}`;
    this.pane.setAttribute("aria-label", `Sentence ${n + 1}`);
    const copied = el("span", { role: "status", class: "muted" });
    const link = el(
      "a",
      {
        href: this.address(),
        onclick: () => {
          navigator.clipboard?.writeText(location.href).then(
            () => {
              copied.textContent = " copied";
            },
            () => {},
          );
        },
      },
      "link",
    );
    fill(
      this.pane,
      el(
        "header",
        {},
        el("h3", {}, `Sentence ${count(n + 1)}`),
        el(
          "span",
          { class: "muted" },
          place >= 0 ? `${count(place + 1)} of ${count(this.shown.length)}, ${count(this.length(n))} tokens ` : "",
          link,
          copied,
        ),
        el(
          "span",
          { class: "steps" },
          el("button", { type: "button", class: "to-list", onclick: () => this.form.scrollIntoView() }, "List"),
          el("button", { type: "button", "aria-label": "Previous sentence", onclick: () => this.step(-1) }, "←"),
          el("button", { type: "button", "aria-label": "Next sentence", onclick: () => this.step(1) }, "→"),
        ),
      ),
      this.legend(),
      el("section", { class: "text source" }, el("h4", {}, "Source"), this.context(n, n - 1), diff(texts.source[n], []), this.context(n, n + 1)),
      ...this.groups(n).map((group) => this.outputCard(n, group)),
      ...texts.references[n].map((reference) =>
        el(
          "section",
          { class: "text reference" },
          el("h4", {}, `Reference ${reference.annotator}`),
          diff(
            texts.source[n],
            reference.edits.map(([start, end, correction, type]) => ({
              start,
              end,
              correction,
              type: report.types[type],
              state: "plain",
            })),
          ),
        ),
      ),
    );
  }

  /** Return the source of a neighbour if it is in the document of sentence n. */
  context(n, other) {
    const { documents, source } = this.texts;
    return other in documents && documents[other] === documents[n] ? el("p", { class: "muted" }, source[other]) : null;
  }

  legend() {
    if (!this.texts.lenses.length) return null;
    return el(
      "p",
      { class: "remark signs" },
      `Edits found by ${this.texts.lenses[this.state.lens].name}: `,
      ["matched", "unmatched", "missed"].map((state) => [
        el("span", { class: `edit ${state}` }, el("span", { class: "sign" }, STATES[state].sign), state),
        " ",
      ]),
    );
  }

  /** Return groups of systems with equal outputs and scores: A, B, then the best by the chosen metric. */
  groups(n) {
    const groups = new Map();
    this.report.systems.forEach((_, s) => {
      const lens = this.texts.lenses[this.state.lens];
      const key =
        `${this.texts.of[s][n]} ${lens ? lens.of[s][n] : 0} ` +
        `${this.texts.metrics.map((each) => each.scores[s][n])}`;
      groups.set(key, [...(groups.get(key) ?? []), s]);
    });
    const { metric, a, b } = this.state;
    const first = (group) => (group.includes(a) ? 2 : group.includes(b) ? 1 : 0);
    return [...groups.values()].sort(
      (one, two) => first(two) - first(one) || this.score(metric, two[0], n) - this.score(metric, one[0], n),
    );
  }

  outputCard(n, group) {
    const { report, texts, state } = this;
    const s = group[0];
    const found = this.lensOf(s, n);
    const names = group.map((each) => {
      const role = report.systems.length > 1 && (each === state.a ? "A" : each === state.b ? "B" : "");
      return el(
        "span",
        { class: `system${role ? " chosen" : ""}` },
        role && el("b", {}, `${role} `),
        report.systems[each],
      );
    });
    const best = report.metrics.map((_, m) =>
      Math.max(...report.systems.map((_, each) => this.score(m, each, n) ?? -Infinity)),
    );
    const figures = report.metrics.map((metric, m) => {
      const value = this.score(m, s, n);
      const rejected = texts.metrics[m].rejected?.[s][n];
      return el(
        "span",
        { class: `figure${m === state.metric ? " chosen" : ""}` },
        el("span", { class: "label" }, metric.short, " "),
        el("span", { class: "value" }, show(value, 3)),
        report.systems.length > 1 &&
          !metric.sentinel &&
          value === best[m] && [el("span", { class: "star", "aria-hidden": "true" }, "★"), heard(" best")],
        report.meaning[m] && el("span", { class: "muted" }, ` (${this.meaning(m, s, n)})`),
        rejected ? el("span", { class: "tag" }, "rejected by its gate") : null,
      );
    });
    return el(
      "section",
      { class: "text output" },
      el(
        "h4",
        {},
        names,
        found &&
          found.annotator !== null &&
          el("span", { class: "muted" }, ` compared with annotator ${found.annotator}`),
      ),
      diff(texts.source[n], this.marks(s, n)),
      el("p", { class: "figures" }, figures),
      ...texts.attribution.map((attribution) => this.worth(attribution, n, s)),
    );
  }

  /** Return the percentile of an output among those of the metric's reference, in words. */
  meaning(m, s, n) {
    const { percentiles, benchmark } = this.report.meaning[m];
    return `above ${percentiles[s][n]} % of ${benchmark}`;
  }

  /** Return the table of the contribution of each edit to a metric's score. */
  worth(attribution, n, s) {
    const number = this.texts.of[s][n];
    const values = attribution.values[n][number];
    const { edits } = this.texts.outputs[n][number];
    if (!edits.length) return null;
    const tokens = this.texts.source[n].split(/\s+/).filter(Boolean);
    const most = Math.max(...values.map(([, , shapley]) => Math.abs(shapley)), 1e-12);
    const total = values.reduce((sum, [, , shapley]) => sum + shapley, 0);
    const sampled = values.some(([, , , error]) => error > 0);
    const rows = edits.map(([start, end, correction, type], place) => {
      const [alone, without, shapley, error] = values[place];
      return [
        `${tokens.slice(start, end).join(" ") || "∅"} → ${correction || "∅"}`,
        this.report.types[type],
        el("td", { class: "number" }, worthBar(shapley / most), signed(shapley), sampled && ` ± ${show(error, 3)}`),
        el("td", { class: "number" }, signed(alone)),
        el("td", { class: "number" }, signed(without)),
      ];
    });
    return el(
      "details",
      { class: "worth", open: true },
      el("summary", {}, `Contribution of each edit to ${attribution.metric}: ${signed(total)} in total`),
      table(
        `Contribution of each edit to ${attribution.metric}`,
        ["edit", "type", sampled ? "Shapley value, ± standard error" : "Shapley value", "alone", "loss without it"],
        rows,
      ),
    );
  }
}

// The names of the further filters.
const FILTERS = ["type", "min", "max", "differ", "disagree", "rejected"];

const SORTS = {
  disagreement: "disagreement on A and B",
  difference: "difference of A and B",
  number: "number of the sentence",
  score: "score of A",
  systems: "A − B",
  metrics: "metric − second metric, in percentiles",
  edits: "edits of A",
  length: "tokens of the source",
};

// Orders that begin with the largest value.
const FALLING = ["disagreement", "difference"];

/** Return which of two systems scores higher, and by how much. */
const winner = (lead) => (lead === 0 ? "=" : `${lead > 0 ? "A" : "B"} ${signed(Math.abs(lead))}`);

/** Return the number of values in a sorted array that are below a value, or at most equal to it. */
function rank(sorted, value, equal) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value || (equal && sorted[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return a bar, to the right of the middle for a gain, to the left for a loss. */
function worthBar(share) {
  const width = Math.abs(share) * 48;
  return draw(
    "svg",
    { viewBox: "0 0 100 10", class: "worth-bar", "aria-hidden": "true", preserveAspectRatio: "none" },
    draw("line", { class: "rail", x1: 50, x2: 50, y1: 0, y2: 10 }),
    draw("rect", { class: share < 0 ? "harm" : "help", x: share < 0 ? 50 - width : 50, y: 2, width, height: 6 }),
  );
}
