// Unpack the data, show the section that the address names, and draw it when it is first seen.

async function unpack() {
  const text = atob(document.getElementById("data").textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function chooseTheme() {
  const button = document.getElementById("theme");
  const themes = [
    ["", "auto"],
    ["light", "light"],
    ["dark", "dark"],
  ];
  let number = 0;
  button.hidden = false;
  button.addEventListener("click", () => {
    number = (number + 1) % themes.length;
    document.documentElement.style.colorScheme = themes[number][0];
    button.textContent = `Theme: ${themes[number][1]}`;
  });
}

function start(report) {
  const draws = {
    overview: () => showOverview(report),
    errors: (root) => showErrors(report, root),
    effects: (root) => showEffects(report, root),
    judgements: (root) => showJudgements(report, root),
  };
  const sections = [...document.querySelectorAll("main > section")];
  let explorer = null;
  const drawn = new Set();
  document.querySelectorAll(".scroll, nav").forEach(showCut);
  const navigate = () => {
    const [name, words] = location.hash.slice(1).split("?");
    const chosen = sections.find((section) => section.id === name) ?? sections[0];
    for (const section of sections) section.classList.toggle("current", section === chosen);
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${chosen.id}`) {
        link.setAttribute("aria-current", "page");
        link.parentNode.scrollLeft = link.offsetLeft - link.parentNode.offsetLeft - 48;
      } else link.removeAttribute("aria-current");
    }
    if (chosen.id === "sentences") {
      explorer ??= new Explorer(report, chosen);
      if (words) explorer.read(new URLSearchParams(words));
      else explorer.reveal();
    } else if (!drawn.has(chosen.id)) {
      drawn.add(chosen.id);
      draws[chosen.id]?.(chosen);
    }
  };
  // Each section is a page of its own, so the browser must not scroll to it.
  history.scrollRestoration = "manual";
  document.documentElement.classList.add("live");
  addEventListener("hashchange", () => {
    scrollTo(0, 0);
    navigate();
  });
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("#overview details")) folded.open = true;
    for (const section of sections) {
      if (section.id !== "sentences" && !drawn.has(section.id)) {
        drawn.add(section.id);
        draws[section.id]?.(section);
      }
    }
  });
  scrollTo(0, 0);
  navigate();
  document.documentElement.dataset.ready = "true";
}

chooseTheme();
unpack()
  .then(start)
  .catch((error) => {
    const place = document.getElementById("failure");
    place.hidden = false;
    place.textContent = `The report could not be opened (${error.message}); a browser of 2024 or later is needed.`;
  });
