// The page on which people judge: one item at a time, by keyboard, mouse or touch.
//
// An answer is kept on this device until the server says that it is stored, and is sent again after a failure, a
// reload or time without a network. It has a key, so that the server stores it once however often it comes.

const { task, dimensions: listed } = JSON.parse(document.getElementById("shown").textContent);
const dimensions = Object.fromEntries(listed); // in the order of the scale
const place = document.getElementById("item");
const kept = `judge:${location.pathname}`;
const RETRY = 2000;

let item = null; // what is shown
let given = {}; // what is chosen so far: ranks, values or edits, by number or name
let current = 0; // the text, dimension or edit that a digit answers
let began = 0;
let marked = false;
let sending = false;

const text = (content, attributes = {}) => el("p", { dir: "auto", class: "reading", ...attributes }, content);
const say = (message, kind = "") => {
  const line = document.getElementById("message");
  line.textContent = message;
  line.className = `message ${kind}`;
};

/** Return a button with its key. */
function key(label, name, onclick, attributes = {}) {
  return el("button", { type: "button", "aria-keyshortcuts": name, onclick, ...attributes }, label, " ", el("kbd", { "aria-hidden": "true" }, name));
}

// -- the server ---------------------------------------------------------------------------------------------------

/** Return what the server says; an error has the status, and none if there is no connection. */
async function ask(path, body = null) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body };
  const reply = await fetch(`${location.pathname}/${path}`, options ?? {});
  const content = await reply.json().catch(() => ({ detail: `the server answered ${reply.status}.` }));
  if (!reply.ok) throw Object.assign(new Error(content.detail), { status: reply.status });
  return content;
}

async function load(path) {
  try {
    present(await ask(path));
    return true;
  } catch (error) {
    say(error.status ? error.message : "No connection. The page goes on when it is back.", "problem");
    if (!error.status) setTimeout(() => load(path), RETRY);
    return false;
  }
}

/** Send the answer that is kept on this device, and show the next item. */
async function send() {
  const answer = localStorage.getItem(kept);
  if (sending || !answer) return;
  sending = true;
  const { number, body } = JSON.parse(answer);
  try {
    const next = await ask(`items/${number}`, body);
    localStorage.removeItem(kept);
    present(next);
    say("Saved.");
  } catch (error) {
    if (!error.status || error.status >= 500) {
      say("Not saved yet. The answer is kept on this device and sent when the server can be reached.", "problem");
      setTimeout(send, RETRY);
    } else {
      localStorage.removeItem(kept);
      if (await load("next")) say(`Not stored: ${error.message}`, "problem");
    }
  } finally {
    sending = false;
  }
}

function answer(content) {
  if (!item || localStorage.getItem(kept)) return;
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const body = JSON.stringify({
    answer: { ...content, comment: document.getElementById("comment").value.trim() },
    seconds: (performance.now() - began) / 1000,
    version: item.version,
    key: Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
  });
  localStorage.setItem(kept, JSON.stringify({ number: item.number, body }));
  say("Saving …");
  send();
}

// -- what the tasks ask -------------------------------------------------------------------------------------------

const changes = (number, attributes = {}) =>
  diff(item.source, item.marks[number].map((mark) => ({ ...mark, state: "plain" })), { lang: null, dir: "auto", class: "reading", ...attributes });

/** Return an output, as text or with its changes. */
const output = (number) => (marked ? changes(number) : text(item.texts[number] || "(blank)"));

/** Return choices of which one is taken; `options` are [value, label] pairs. */
function choices(label, name, options) {
  return el(
    "div",
    { class: "choices", role: "radiogroup", "aria-label": label },
    options.map(([value, shown]) =>
      el(
        "label",
        { class: "choice" },
        el("input", { type: "radio", name: `choice-${name}`, value, checked: given[name] === value, onchange: () => choose(name, value) }),
        el("span", {}, shown),
      ),
    ),
  );
}

function choose(name, value) {
  given[name] = value;
  current = Math.min(names().indexOf(name) + 1, names().length - 1);
  draw_item();
}

const TASKS = {
  pairs: {
    names: () => [],
    parts: () => [
      el("div", { class: "pair" }, item.texts.map((_, number) => el("section", { class: "card" }, el("h3", {}, `Correction ${number + 1}`), output(number)))),
      el(
        "div",
        { class: "answers", role: "group", "aria-label": "Which correction is better?" },
        key("1 is better", "1", () => answer({ ranks: [1, 2] }), pressed([1, 2])),
        key("Equal", "0", () => answer({ ranks: [1, 1] }), pressed([1, 1], false)),
        key("2 is better", "2", () => answer({ ranks: [2, 1] }), pressed([2, 1])),
        key("Both bad", "3", () => answer({ ranks: [1, 1], bad: true }), pressed([1, 1], true)),
      ),
    ],
    keys: {
      1: () => answer({ ranks: [1, 2] }),
      2: () => answer({ ranks: [2, 1] }),
      0: () => answer({ ranks: [1, 1] }),
      3: () => answer({ ranks: [1, 1], bad: true }),
      ArrowLeft: () => answer({ ranks: [1, 2] }),
      ArrowRight: () => answer({ ranks: [2, 1] }),
    },
  },
  ranking: {
    names: () => item.texts.map((_, number) => number),
    parts: () =>
      item.texts.map((_, number) =>
        part(number, `Correction ${number + 1}`, output(number), choices(`Rank of correction ${number + 1}`, number, item.texts.map((_, rank) => [rank + 1, rank + 1]))),
      ),
    digits: (digit) => digit >= 1 && digit <= item.texts.length && digit,
    content: () => ({ ranks: names().map((name) => given[name]) }),
    read: (said) => said.ranks,
  },
  ratings: {
    names: () => Object.keys(dimensions),
    parts: () => [
      el("section", { class: "card" }, el("h3", {}, "Correction"), output(0)),
      names().map((name) => part(name, name[0].toUpperCase() + name.slice(1), scale(name))),
    ],
    digits: (digit) => (steps(names()[current]) ? digit >= dimensions[names()[current]].low && digit <= dimensions[names()[current]].high && digit : digit * 10),
    content: () => ({ values: given }),
    read: (said) => said.values,
  },
  edits: {
    names: () => item.marks[0].map((_, number) => number),
    parts: () => [
      el("section", { class: "card" }, el("h3", {}, "With all changes"), changes(0)),
      item.marks[0].map((mark, number) =>
        part(
          number,
          `Change ${number + 1}`,
          diff(item.source, [{ ...mark, state: "plain" }], { lang: null, dir: "auto", class: "reading" }),
          choices(`Change ${number + 1}`, number, [
            [1, "Accept"],
            [-1, "Reject"],
            [0, "Unsure"],
          ]),
        ),
      ),
    ],
    digits: (digit) => ({ 1: 1, 2: -1, 0: 0 })[digit],
    content: () => ({ edits: names().map((name) => given[name]) }),
    read: (said) => said.edits,
  },
};
const names = () => TASKS[task].names();
const pressed = (ranks, bad = false) => {
  const said = item.answer;
  const same = said && !said.skip && said.bad === bad && said.ranks.join() === ranks.join();
  return { "aria-pressed": said ? String(Boolean(same)) : null };
};

/** Return a part of an item that is answered by itself. */
function part(name, title, ...content) {
  const number = names().indexOf(name);
  return el("section", { class: `card part ${number === current ? "current" : ""}`, onclick: () => point(number) }, el("h3", {}, title), content);
}

/** Say which part the digits answer. */
function point(number) {
  current = Math.max(0, Math.min(number, names().length - 1));
  document.querySelectorAll(".part").forEach((node, place) => node.classList.toggle("current", place === current));
  document.querySelectorAll(".part")[current]?.scrollIntoView({ block: "nearest" });
}

/** Whether a dimension has few values, each with its words. */
const steps = (name) => dimensions[name].high - dimensions[name].low < 10;

function scale(name) {
  const { low, high, anchors } = dimensions[name];
  const options = Object.entries(anchors).map(([value, words]) => [Number(value), words]);
  if (steps(name)) return choices(name, name, options.map(([value, words]) => [value, `${value} ${words}`]));
  const shown = el("output", {}, given[name] ?? "–");
  const slide = (event) => {
    given[name] = Number(event.target.value);
    shown.textContent = given[name];
    ready();
  };
  return el(
    "div",
    { class: "scale" },
    el("input", { type: "range", min: low, max: high, value: given[name] ?? (low + high) / 2, "aria-label": name, oninput: slide, onclick: slide }),
    shown,
    el("ul", { class: "anchors" }, options.map(([value, words]) => el("li", {}, el("b", {}, value), ` ${words}`))),
  );
}

// -- the item -----------------------------------------------------------------------------------------------------

function present(next) {
  item = next.done ? null : next;
  const done = item ? item.position : next.total;
  const total = item ? item.total : next.total;
  document.getElementById("count").textContent = item ? `Item ${done + 1} of ${total}` : `All ${total} items are answered`;
  document.getElementById("progress").value = total ? done / total : 1;
  say("");
  given = {};
  current = 0;
  began = performance.now();
  if (!item) {
    fill(place, el("section", { class: "card thanks" }, el("h2", { tabindex: "-1" }, "Thank you"), el("p", {}, "You have answered everything. Each answer is stored, and you can close this page.")));
  } else {
    const said = item.answer;
    if (said && !said.skip && TASKS[task].read) Object.entries(TASKS[task].read(said)).forEach(([name, value]) => (given[task === "ratings" ? name : Number(name)] = value));
    fill(place, el("div", { id: "parts" }), tools(said));
    draw_item();
  }
  scrollTo(0, 0);
  place.querySelector("h2").focus({ preventScroll: true });
}

function draw_item() {
  const focus = document.activeElement?.matches?.("#parts input") && [document.activeElement.name, document.activeElement.value];
  fill(
    document.getElementById("parts"),
    el("section", { class: "card source" }, el("h2", { tabindex: "-1" }, "Sentence"), context(0), text(item.source), context(1)),
    TASKS[task].parts(),
    names().length > 0 && key("Save and go on", "Enter", finish, { id: "finish", class: "primary" }),
  );
  if (focus) document.querySelector(`input[name="${focus[0]}"][value="${focus[1]}"]`)?.focus();
  ready();
}

/** Return the sentence before (0) or after (1) the item's in its document, if there is one. */
const context = (side) => item.context[side] && el("p", { class: "muted", dir: "auto" }, item.context[side]);

const whole = () => names().every((name) => given[name] !== undefined);

function ready() {
  const button = document.getElementById("finish");
  if (button) button.setAttribute("aria-disabled", String(!whole()));
}

function finish() {
  if (whole()) answer(TASKS[task].content());
  else say("Something is not answered yet.", "problem");
}

/** Return what every item has: back, changes, comment, skip. */
function tools(said) {
  const reason = el("input", { id: "reason", maxlength: 4000, value: said?.skip ?? "" });
  const skip = () => (reason.value.trim() ? answer({ skip: reason.value.trim() }) : (say("Say why the item is skipped.", "problem"), reason.focus()));
  return el(
    "div",
    { class: "tools" },
    el(
      "div",
      { class: "controls" },
      key("Back", "z", back, { disabled: item.previous === null }),
      task !== "edits" && key("Show changes", "c", mark, { "aria-pressed": String(marked) }),
    ),
    el("details", { open: Boolean(said?.comment) }, el("summary", {}, "Comment"), el("label", { class: "field", for: "comment" }, "Comment on this item"), el("textarea", { id: "comment", maxlength: 4000, rows: 2, dir: "auto" }, said?.comment ?? "")),
    el("details", { open: Boolean(said?.skip) }, el("summary", {}, "Skip"), el("label", { class: "field", for: "reason" }, "Why can it not be judged?"), el("div", { class: "controls" }, reason, key("Skip", "s", skip))),
  );
}

const back = () => item?.previous != null && load(`items/${item.previous}`);

function mark() {
  marked = !marked;
  document.querySelector('[aria-keyshortcuts="c"]').setAttribute("aria-pressed", String(marked));
  draw_item();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !item) return;
  const field = event.target.closest("textarea, #reason");
  if (field) {
    if (event.key === "Enter" && field.id === "reason") document.querySelector('[aria-keyshortcuts="s"]').click();
    return;
  }
  const radio = event.target.matches("input") && event.key.startsWith("Arrow");
  const digit = /^[0-9]$/.test(event.key) && TASKS[task].digits ? TASKS[task].digits(Number(event.key)) : undefined;
  const keys = {
    z: back,
    c: task !== "edits" && mark,
    s: () => {
      const details = document.getElementById("reason").closest("details");
      details.open = true;
      document.getElementById("reason").focus();
    },
    ...(names().length && { Enter: !event.target.closest("button, summary") && finish, ArrowDown: () => point(current + 1), ArrowUp: () => point(current - 1) }),
    ...TASKS[task].keys,
  };
  if (!radio && digit !== undefined && digit !== false) choose(names()[current], digit);
  else if (!radio && keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});
addEventListener("online", send);

document.getElementById("guidelines").open = matchMedia("(min-width: 60rem)").matches;
if (localStorage.getItem(kept)) load("next").then(send);
else load("next");
