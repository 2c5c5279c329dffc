"use strict";
(() => {
  document.documentElement.classList.add("js");
  let data = null; // parsed when the first panel is opened
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 380, HEIGHT = 230, LEFT = 62, RIGHT = 372, TOP = 8, BOTTOM = 200;
  const STEPS = 1000; // drawn values are whole numbers of this many steps

  // Text only ever enters the page as text: names in files are nobody's markup.
  function html(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  function svg(name, attributes, ...children) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  const badge = (verdict, proven) => html("span", { class: "badge " + proven }, verdict);
  const scale = (low, high, from, to) => (value) => // what lies beyond an end is drawn at it
    high > low ? from + (Math.min(Math.max(value - low, 0), high - low) / (high - low)) * (to - from) : (from + to) / 2;
  const SIDES = ["x", "y"];

  function marker(side, x, y) {
    return side === "x"
      ? svg("circle", { class: "x", cx: x.toFixed(1), cy: y.toFixed(1), r: 2.7 })
      : svg("path", { class: "y mark", d: `M${x.toFixed(1)} ${(y - 3.5).toFixed(1)}l3.5 3.5-3.5 3.5-3.5-3.5z` });
  }
  function marks(side, points) {
    // One element a side: a thousand points are one path.
    const d = points.map(([x, y]) => side === "x"
      ? `M${(x - 2.7).toFixed(1)} ${y.toFixed(1)}a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0-5.4 0`
      : `M${x.toFixed(1)} ${(y - 3.4).toFixed(1)}l3.4 3.4-3.4 3.4-3.4-3.4z`).join("");
    return svg("g", { class: side }, svg("path", { d: d, "vector-effect": "non-scaling-stroke" }));
  }
  function frame(label) {
    return svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  }
  function axisText(x, y, anchor, text) {
    return svg("text", { x: x, y: y, "text-anchor": anchor }, text);
  }
  function valuesUpwards(chart, drawn) {
    const at = scale(0, STEPS, BOTTOM - 6, TOP + 6);
    for (const [value, label] of drawn.ticks) {
      const y = at(value);
      chart.append(svg("line", { class: "grid", x1: LEFT, x2: RIGHT, y1: y, y2: y }),
        axisText(LEFT - 6, y + 4, "end", label));
    }
    return at;
  }
  function figure(chart, title, text) {
    return html("figure", {}, html("figcaption", {}, html("b", {}, title), text), chart);
  }
  const place = (sample, k) => (sample.ranked ? Math.round((k * (sample.n - 1)) / (sample.order.length - 1)) : k);
  const remarks = (drawn) => (drawn.samples.some((s) => s.ranked) ? " Large samples are thinned evenly." : "") +
    (drawn.beyond ? " " + drawn.beyond : "");

  function runOrder(drawn, labels) {
    const chart = frame(`Values by place: ${drawn.samples.map((s) => s.told).join("; ")}`);
    const at = valuesUpwards(chart, drawn);
    const most = Math.max(...drawn.samples.map((s) => s.n));
    const along = scale(1, most, LEFT + 8, RIGHT - 4);
    drawn.samples.forEach((sample, i) => {
      const points = sample.order.map((v, k) => [along(place(sample, k) + 1), at(v)]);
      chart.append(svg("polyline", { class: "link " + SIDES[i], points: points.map((p) => p.map((c) => c.toFixed(1)).join(",")).join(" ") }));
      chart.append(marks(SIDES[i], points));
    });
    chart.append(svg("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM }),
      axisText(along(1), BOTTOM + 15, "middle", "1"));
    if (most > 1) chart.append(axisText(along(most), BOTTOM + 15, "end", String(most)));
    chart.append(axisText((LEFT + RIGHT) / 2, BOTTOM + 27, "middle", drawn.ordered ? drawn.unit : "place in the file"));
    return figure(chart, drawn.ordered ? "In order" : "Order of the file",
      (drawn.ordered ? "A trend, a step or a warm-up shows here." : "The files do not tell in which order the runs were made.") + remarks(drawn));
  }

  function strip(drawn, labels) {
    const chart = frame(`Distribution: ${drawn.samples.map((s) => s.told).join("; ")}`);
    const at = valuesUpwards(chart, drawn);
    const half = (RIGHT - LEFT) / 4;
    drawn.samples.forEach((sample, i) => {
      const side = SIDES[i], centre = LEFT + half * (1 + 2 * i);
      const values = sample.ranked || sample.order;
      chart.append(marks(side, swarm(values.map(at), half * 0.6).map(([dx, y]) => [centre + dx, y])));
      const [q1, q2, q3] = sample.quartiles.map(at);
      const w = half * 0.66;
      chart.append(svg("rect", { class: "box " + side, x: centre - w, width: 2 * w, y: q3, height: Math.max(q1 - q3, 0.5), rx: 3 }),
        svg("line", { class: "box median " + side, x1: centre - w, x2: centre + w, y1: q2, y2: q2 }),
        axisText(centre, BOTTOM + 15, "middle", cut(labels[i], 22)),
        axisText(centre, BOTTOM + 28, "middle", "median " + sample.median));
    });
    chart.append(svg("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM }));
    return figure(chart, "Distribution", (drawn.unit === "run" ? "Every value; boxes" : "Boxes") + " hold the middle half, bold lines are medians." + remarks(drawn));
  }
  // Points of about the same height are spread sideways from the middle, as wide as they are many.
  function swarm(heights, widest) {
    const bins = new Map();
    heights.forEach((y, i) => {
      const bin = Math.round(y / 5);
      if (!bins.has(bin)) bins.set(bin, []);
      bins.get(bin).push(i);
    });
    const places = new Array(heights.length);
    for (const members of bins.values()) {
      const gap = Math.min(7, (2 * widest) / members.length);
      members.forEach((i, k) => { places[i] = [(k - (members.length - 1) / 2) * gap, heights[i]]; });
    }
    return places;
  }

  const units = (drawn) => (drawn.unit === "process" ? "processes" : drawn.unit + "s");
  function ecdf(drawn, labels) {
    const chart = frame(`Share of ${units(drawn)} up to a value: ${drawn.samples.map((s) => s.told).join("; ")}`);
    const left = 42, at = scale(0, STEPS, left + 8, RIGHT - 6), up = scale(0, 1, BOTTOM, TOP);
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      chart.append(svg("line", { class: "grid", x1: left, x2: RIGHT, y1: up(share), y2: up(share) }),
        axisText(left - 6, up(share) + 4, "end", 100 * share + " %"));
    }
    let free = -Infinity;
    for (const [value, label] of drawn.ticks) {
      const x = at(value), width = 6.2 * label.length;
      if (x - width / 2 < free) continue;
      free = x + width / 2 + 8;
      chart.append(svg("line", { class: "axis", x1: x, x2: x, y1: BOTTOM, y2: BOTTOM + 4 }), axisText(x, BOTTOM + 16, "middle", label));
    }
    drawn.samples.forEach((sample, i) => {
      const values = sample.ranked || [...sample.order].sort((a, b) => a - b);
      let d = `M${left} ${BOTTOM}`;
      values.forEach((v, k) => { d += `H${at(v).toFixed(1)}V${up((k + 1) / values.length).toFixed(1)}`; });
      chart.append(svg("path", { class: SIDES[i], d: d + `H${RIGHT}` }));
    });
    return figure(chart, `Share of ${units(drawn)} up to a value`, "The curve further left is the lower version; curves that cross depend on the run.");
  }
  function shift(found) {
    const { ticks, one, deciles } = found.shift;
    const chart = frame(`How many times faster ${found.labels[1]} is at each decile`);
    const left = 42, along = scale(1, 9, left + 14, RIGHT - 14), up = scale(0, 100, BOTTOM, TOP);
    for (const [at, label] of ticks) {
      chart.append(svg("line", { class: "grid", x1: left, x2: RIGHT, y1: up(at), y2: up(at) }), axisText(left - 6, up(at) + 4, "end", label + "x"));
    }
    chart.append(svg("line", { class: "one", x1: left, x2: RIGHT, y1: up(one), y2: up(one) }));
    deciles.forEach(([ratio, low, high], k) => {
      const x = along(k + 1);
      const arrow = (y, by) => `M${x - 4} ${y - by}l4 ${by} 4 ${-by}`;
      const d = `M${x} ${up(low ?? 0)}V${up(high ?? 100)}` + (low === null ? arrow(BOTTOM, 6) : "") + (high === null ? arrow(TOP, -6) : "");
      chart.append(svg("path", { class: "y link", d }), marker("y", x, up(ratio)), axisText(x, BOTTOM + 15, "middle", `${10 * (k + 1)} %`));
    });
    return figure(chart, "Speedup at each decile", `Above 1 ${found.labels[1]} is better. All nine bars hold together, each side at the stated confidence; an arrow has no bound.`);
  }
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

  function table(caption, head, rows, kind = "") {
    return html("div", { class: "wide", tabindex: 0, role: "group", "aria-label": caption }, html("table", { class: "plain " + kind }, html("caption", {}, caption),
      html("thead", {}, html("tr", {}, ...head.map((h) => html("th", { scope: "col" }, h || html("span", { class: "sr" }, "kind"))))),
      html("tbody", {}, ...rows)));
  }
  const line = (cells) => html("tr", {}, html("th", { scope: "row" }, cells[0]), ...cells.slice(1).map((c) => html("td", {}, c)));

  // Charts are drawn when they come into view: opening a hundred panels draws a few.
  const drawLater = (holder, make) => {
    holder.make = make;
    watcher.observe(holder);
  };
  const draw = (holder) => {
    if (!holder.make) return;
    holder.append(...holder.make());
    holder.make = null;
    watcher.unobserve(holder);
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "600px" });
  addEventListener("beforeprint", () => document.querySelectorAll(".later, .c-strip").forEach(draw));

  function charts(found) {
    const drawn = found.drawn;
    if (!drawn) {
      return [html("p", { class: "dim" }, "The samples are not in this report, so there are no charts: make it with 'compare --html', or store them with 'compare --json --with-samples'.")];
    }
    return [
      html("div", { class: "legend" },
        svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, marker("x", 6, 6)), ` ${found.labels[0]} (reference, circles, dashed)   `,
        svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, marker("y", 6, 6)), ` ${found.labels[1]} (candidate, diamonds, solid)`),
      html("div", { class: "charts" }, runOrder(drawn, found.labels), strip(drawn, found.labels), ecdf(drawn, found.labels), ...(found.shift ? [shift(found)] : []))];
  }
  const MARKS = { holds: "✓ holds", fails: "✗ fails", undermines: "✗ undermines the verdict" };
  function panel(found, texts) {
    const checks = found.checks.map((row) => row.map((place) => texts[place]));
    const tests = found.tests.map((row) => row.map((place) => texts[place]));
    const holder = html("div", { class: "later" });
    drawLater(holder, () => [
      ...charts(found),
      table("Checks", ["", "Check", "What it asks", "p", "What it means and what to do"],
        checks.map(([held, name, asks, p, message]) => html("tr", {},
          html("td", { class: held === "holds" ? "held" : "held failed" }, MARKS[held]), html("th", { scope: "row" }, name),
          ...[["", asks], ["p", p], ["", message]].map(([label, c]) => html("td", { "data-label": label, class: label ? "held" : "" }, c)))), "checks"),
      table("Tests", ["Protocol", "Test", "p, faster", "p, slower"], tests.map(line)),
      table("Both sides in numbers", ["", "Version", "Values", "Median", "Mean", "Minimum", "Maximum", "Standard deviation", "MAD"], found.summary.map(line))]);
    const cell = html("td", {}, html("ul", { class: "verdicts" },
      ...found.said.map(([verdict, proven, text]) => html("li", {}, badge(verdict, proven), " ", text))), holder);
    return html("tr", { class: "panel" }, cell);
  }

  // Every run of both versions in a row: a tick each, the reference above.
  function smallStrip(drawn) {
    const chart = svg("svg", { class: "chart", viewBox: "0 0 120 20", role: "img", "aria-label": drawn.samples.map((s) => s.told).join("; ") });
    const at = scale(0, STEPS, 2, 118);
    drawn.samples.forEach((sample, i) => chart.append(svg("path", { class: `${SIDES[i]} ticks`, d: sample.order.map((v) => `M${at(v).toFixed(1)} ${1 + 10 * i}v8`).join("") })));
    return chart;
  }
  async function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = html("textarea", {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const read = () => (data = data || JSON.parse(document.getElementById("-data").textContent));

  let made = 0;
  for (const holder of document.querySelectorAll("[data-table]")) {
    const body = holder.querySelector("tbody"), wide = holder.querySelector(".wide");
    // What scrolls sideways keeps its header inside: only a table that fits has one that stays.
    new ResizeObserver(() => wide.classList.toggle("fits", wide.firstChild.offsetWidth <= wide.clientWidth)).observe(wide);
    const rows = [...body.rows];
    const headers = [...holder.querySelectorAll("thead th")];
    const shown = holder.querySelector("[data-shown]");
    const more = holder.querySelector("[data-all]");
    const panels = new Map();

    const toggle = (row, wanted) => {
      const button = row.querySelector(".open");
      if (!button) return;
      if (wanted && !panels.has(row)) {
        const opened = panel(read().panels[Number(row.dataset.panel)], data.texts);
        opened.firstChild.colSpan = headers.length;
        opened.id = `-panel-${made++}`;
        button.setAttribute("aria-controls", opened.id);
        panels.set(row, opened);
        row.after(opened);
      }
      if (panels.has(row)) panels.get(row).hidden = !wanted || row.hidden;
      button.setAttribute("aria-expanded", String(wanted));
    };
    const opened = (row) => row.querySelector(".open")?.getAttribute("aria-expanded") === "true";
    body.addEventListener("click", (event) => {
      const button = event.target.closest(".open");
      if (!button) return;
      const row = button.closest("tr"), wanted = button.getAttribute("aria-expanded") !== "true";
      toggle(row, wanted);
      history.replaceState(null, "", wanted ? "#" + encodeURIComponent(row.dataset.name) : location.pathname + location.search);
    });
    for (const cell of body.querySelectorAll(".c-strip")) {
      const row = cell.closest("tr");
      drawLater(cell, () => [read().panels[row.dataset.panel]?.drawn].filter(Boolean).map(smallStrip));
    }

    const filters = [...holder.querySelectorAll("[data-filter]")];
    const filter = () => {
      const wanted = Object.fromEntries(filters.map((f) => [f.dataset.filter, f.value.toLocaleLowerCase()]));
      let count = 0;
      for (const row of rows) {
        const kind = (row.dataset.kind || "").toLocaleLowerCase();
        const fits = row.dataset.name.toLocaleLowerCase().includes(wanted.name || "") &&
          (!wanted.kind || (wanted.kind[0] === "-" ? wanted.name || "-" + kind !== wanted.kind : kind === wanted.kind));
        row.hidden = !fits;
        if (panels.has(row)) panels.get(row).hidden = !fits || !opened(row);
        count += fits;
      }
      shown.textContent = count === rows.length ? `${count} rows` : `${count} of ${rows.length} rows shown`;
      if (more) more.hidden = !(wanted.kind || "").startsWith("-");
    };
    const showAll = () => {
      for (const f of filters) f.value = "";
      filter();
    };
    more?.addEventListener("click", showAll);
    const linked = () => {
      const name = decodeURIComponent(location.hash.slice(1));
      const row = name && rows.find((r) => (r.dataset.name === name || r.id === name) && r.dataset.panel);
      if (!row) return;
      if (row.hidden) showAll();
      toggle(row, true);
      row.scrollIntoView();
      row.querySelector(".open").focus({ preventScroll: true });
    };
    addEventListener("hashchange", linked);
    const cells = (row) => [...row.cells].filter((c) => !/c-plot|c-strip/.test(c.className)).map((c) => (c.querySelector("button") || c).textContent.trim().replace(/\|/g, "\\|"));
    holder.querySelector("[data-copy]")?.addEventListener("click", async () => {
      const head = cells(holder.querySelector("thead tr"));
      const lines = [head, head.map((_, i) => (i ? "---:" : "---")), ...rows.filter((r) => !r.hidden).sort((a, b) => a.rowIndex - b.rowIndex).map(cells)];
      await copy(lines.map((l) => `| ${l.join(" | ")} |\n`).join(""));
      shown.textContent = `copied ${lines.length - 2} rows`;
    });
    for (const f of filters) f.addEventListener(f.tagName === "SELECT" ? "change" : "input", filter);
    if (filters.length) filter();

    for (const button of holder.querySelectorAll("[data-open]")) {
      button.addEventListener("click", () => {
        const wanted = button.dataset.open === "all";
        for (const row of rows) if (!row.hidden && opened(row) !== wanted) toggle(row, wanted);
      });
    }

    for (const button of holder.querySelectorAll("[data-sort]")) {
      button.addEventListener("click", () => {
        const header = button.closest("th"), column = headers.indexOf(header);
        const before = header.getAttribute("aria-sort");
        const cell = (row) => row.cells[column];
        const textual = !rows.some((row) => cell(row).dataset.k);
        const direction = before === "none" ? (textual ? "ascending" : "descending") : before === "ascending" ? "descending" : "ascending";
        for (const h of headers) if (h.hasAttribute("aria-sort")) h.setAttribute("aria-sort", h === header ? direction : "none");
        const sign = direction === "ascending" ? 1 : -1;
        const collator = new Intl.Collator(undefined, { numeric: true });
        const keyed = [...rows].map((row) => [row, textual ? (cell(row).title || cell(row).textContent) : Number(cell(row).dataset.k || NaN)]);
        keyed.sort(([, a], [, b]) => {
          if (textual) return sign * collator.compare(a, b);
          if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // unknown ones last, both ways
          return sign * (a - b);
        });
        const fragment = document.createDocumentFragment();
        for (const [row] of keyed) {
          fragment.append(row);
          if (panels.has(row)) fragment.append(panels.get(row));
        }
        body.append(fragment);
      });
    }
    const openable = rows.filter((row) => row.querySelector(".open"));
    if (openable.length === 1) toggle(openable[0], true);
    linked();
  }
})();
