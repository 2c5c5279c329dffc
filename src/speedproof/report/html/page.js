"use strict";
(() => {
  document.documentElement.classList.add("js");
  let data = null; // parsed when the first panel is opened
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 380, HEIGHT = 230, LEFT = 62, RIGHT = 372, TOP = 8, BOTTOM = 200;
  const MOST_OPENED = 100;

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
  const badge = (verdict) => html("span", { class: "badge " + verdict }, verdict);
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
    const at = scale(drawn.low, drawn.high, BOTTOM - 6, TOP + 6);
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
  const remarks = (drawn) => (drawn.samples.some((s) => s.at) ? " Large samples are thinned evenly." : "") +
    (drawn.beyond ? " " + drawn.beyond : "");

  function runOrder(drawn, labels) {
    const chart = frame(`Values by place: ${drawn.samples.map((s) => s.told).join("; ")}`);
    const at = valuesUpwards(chart, drawn);
    const most = Math.max(...drawn.samples.map((s) => s.n));
    const along = scale(1, most, LEFT + 8, RIGHT - 4);
    drawn.samples.forEach((sample, i) => {
      const points = sample.order.map((v, k) => [along((sample.at ? sample.at[k] : k) + 1), at(v)]);
      chart.append(svg("polyline", { class: "link " + SIDES[i], points: points.map((p) => p.map((c) => c.toFixed(1)).join(",")).join(" ") }));
      chart.append(marks(SIDES[i], points));
    });
    chart.append(svg("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM }),
      axisText(along(1), BOTTOM + 15, "middle", "1"));
    if (most > 1) chart.append(axisText(along(most), BOTTOM + 15, "end", String(most)));
    chart.append(axisText((LEFT + RIGHT) / 2, BOTTOM + 27, "middle", drawn.ordered ? "run" : "place in the file"));
    return figure(chart, drawn.ordered ? "Run order" : "Order of the file",
      (drawn.ordered ? "A trend, a step or a warm-up shows here." : "The files do not tell in which order the runs were made.") + remarks(drawn));
  }

  function strip(drawn, labels) {
    const chart = frame(`Distribution: ${drawn.samples.map((s) => s.told + (s.mixture ? ", mixture of " + s.mixture.told : "")).join("; ")}`);
    const at = valuesUpwards(chart, drawn);
    const half = (RIGHT - LEFT) / 4;
    drawn.samples.forEach((sample, i) => {
      const side = SIDES[i], centre = LEFT + half * (1 + 2 * i);
      const values = sample.ranked || sample.order;
      if (sample.mixture) {
        const w = half * 0.94, { at: places, density, means } = sample.mixture;
        const edge = (sign) => places.map((v, k) => `${(centre + sign * w * density[k]).toFixed(1)} ${at(v).toFixed(1)}`);
        chart.append(svg("path", { class: "violin " + side, d: `M${edge(1).join("L")}L${edge(-1).reverse().join("L")}z` }));
        if (means.length > 1) {
          for (const mean of means) chart.append(svg("path", { class: "component " + side, d: `M${(centre - w).toFixed(1)} ${at(mean).toFixed(1)}l-7 -4v8z` }));
        }
      }
      chart.append(marks(side, swarm(values.map(at), half * 0.6).map(([dx, y]) => [centre + dx, y])));
      const [q1, q2, q3] = sample.quartiles.map(at);
      const w = half * 0.66;
      chart.append(svg("rect", { class: "box " + side, x: centre - w, width: 2 * w, y: q3, height: Math.max(q1 - q3, 0.5), rx: 3 }),
        svg("line", { class: "box median " + side, x1: centre - w, x2: centre + w, y1: q2, y2: q2 }),
        axisText(centre, BOTTOM + 15, "middle", cut(labels[i], 24)),
        axisText(centre, BOTTOM + 28, "middle", "median " + sample.median));
    });
    chart.append(svg("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM }));
    const several = drawn.samples.some((s) => s.mixture && s.mixture.means.length > 1);
    return figure(chart, "Distribution", "Every value; boxes hold the middle half, bold lines are medians" +
      (drawn.samples.some((s) => s.mixture) ? ", outlines the Gaussian mixtures" : "") +
      (several ? ", triangles their components" : "") + "." + remarks(drawn));
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

  function ecdf(drawn, labels) {
    const chart = frame(`Share of runs up to a value: ${drawn.samples.map((s) => s.told).join("; ")}`);
    const left = 42, at = scale(drawn.low, drawn.high, left + 8, RIGHT - 6), up = scale(0, 1, BOTTOM, TOP);
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
    return figure(chart, "Share of runs up to a value", "The curve further left is the lower version; curves that cross depend on the run.");
  }
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

  function table(caption, head, rows, kind = "") {
    return html("div", { class: "wide" }, html("table", { class: "plain " + kind }, html("caption", {}, caption),
      html("thead", {}, html("tr", {}, ...head.map((h) => html("th", { scope: "col" }, h)))),
      html("tbody", {}, ...rows)));
  }
  const line = (cells) => html("tr", {}, html("th", { scope: "row" }, cells[0]), ...cells.slice(1).map((c) => html("td", {}, c)));

  function mixtures(drawn, labels) {
    const told = drawn.samples.flatMap((s, i) => (s.mixture ? [[labels[i], s.mixture.told]] : []));
    return told.length ? [table("Gaussian mixtures", ["Version", "Components"], told.map(line))] : [];
  }

  function panel(found) {
    const cell = html("td", {});
    cell.append(html("ul", { class: "verdicts" }, ...found.said.map(([verdict, text]) => html("li", {}, badge(verdict), " ", text))));
    const drawn = found.drawn;
    if (drawn) {
      cell.append(html("div", { class: "legend" },
        svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, marker("x", 6, 6)), ` ${found.labels[0]} (reference, circles, dashed)   `,
        svg("svg", { width: 12, height: 12, "aria-hidden": "true" }, marker("y", 6, 6)), ` ${found.labels[1]} (candidate, diamonds, solid)`));
      cell.append(html("div", { class: "charts" }, runOrder(drawn, found.labels), strip(drawn, found.labels), ecdf(drawn, found.labels)));
    } else {
      cell.append(html("p", { class: "note dim" }, "The samples are not in this report, so there are no charts: make it with 'compare --html', or store them with 'compare --json --with-samples'."));
    }
    cell.append(
      table("Checks", ["", "Check", "What it asks", "Statistic", "p", "What it means and what to do", "Protocols"],
        found.checks.map(([held, name, asks, statistic, p, message, protocols]) => html("tr", {},
          html("td", { class: held === "holds" ? "held" : "held failed" }, held === "holds" ? "✓ holds" : held === "fails" ? "✗ fails" : "✗ undermines the verdict"), html("th", { scope: "row" }, name),
          ...[["", asks], ["Statistic", statistic], ["p", p], ["", message], ["Protocols", protocols]].map(([label, c]) =>
            html("td", { "data-label": label }, c)))), "checks"),
      table("Tests", ["Protocol", "Test", "p, faster", "p, slower", "Rule", "Highest confidence for faster"], found.tests.map(line)),
      ...(drawn ? mixtures(drawn, found.labels) : []),
      table("Both sides in numbers", ["", "Version", "Values", "Mean", "Median", "Minimum", "Standard deviation", "MAD"], found.summary.map(line)));
    return html("tr", { class: "panel" }, cell);
  }

  for (const section of document.querySelectorAll("[data-section]")) {
    const body = section.querySelector(".forest tbody");
    if (!body) continue;
    const rows = [...body.rows];
    const columns = section.querySelectorAll(".forest thead th").length;
    const shown = section.querySelector("[data-shown]");
    const panels = new Map();
    const headers = [...section.querySelectorAll(".forest thead th")];

    const toggle = (row, wanted) => {
      const button = row.querySelector(".open");
      const place = Number(row.dataset.row);
      if (wanted && !panels.has(row)) {
        data = data || JSON.parse(document.getElementById("data").textContent);
        const made = panel(data[Number(section.dataset.section)][place]);
        made.firstChild.colSpan = columns;
        made.id = `panel-${section.dataset.section}-${place}`;
        button.setAttribute("aria-controls", made.id);
        panels.set(row, made);
        row.after(made);
      }
      if (panels.has(row)) panels.get(row).hidden = !wanted || row.hidden;
      button.setAttribute("aria-expanded", String(wanted));
    };
    const opened = (row) => row.querySelector(".open").getAttribute("aria-expanded") === "true";
    body.addEventListener("click", (event) => {
      const button = event.target.closest(".open");
      if (button) toggle(button.closest("tr"), button.getAttribute("aria-expanded") !== "true");
    });

    const filters = [...section.querySelectorAll("[data-filter]")];
    const filter = () => {
      const [name, verdict, protocol] = filters.map((f) => f.value);
      const wanted = name.toLocaleLowerCase();
      let count = 0;
      for (const row of rows) {
        const { row: _, ...verdicts } = row.dataset;
        const given = protocol ? [row.getAttribute("data-" + protocol.replace(/ /g, "-"))] : Object.values(verdicts);
        const fits = (!verdict || given.includes(verdict)) && row.cells[0].dataset.k.toLocaleLowerCase().includes(wanted);
        row.hidden = !fits;
        if (panels.has(row)) panels.get(row).hidden = !fits || !opened(row);
        count += fits;
      }
      shown.textContent = count === rows.length ? `${count} benchmarks` : `${count} of ${rows.length} benchmarks shown`;
    };
    for (const f of filters) f.addEventListener(f.tagName === "SELECT" ? "change" : "input", filter);
    if (filters.length) filter();

    for (const button of section.querySelectorAll("[data-open]")) {
      button.addEventListener("click", () => {
        if (button.dataset.open === "none") {
          for (const row of rows) if (opened(row)) toggle(row, false);
          return;
        }
        const visible = rows.filter((row) => !row.hidden);
        for (const row of visible.slice(0, MOST_OPENED)) toggle(row, true);
        if (visible.length > MOST_OPENED) shown.textContent = `the first ${MOST_OPENED} of ${visible.length} panels opened; filter for others`;
      });
    }

    for (const button of section.querySelectorAll("[data-sort]")) {
      button.addEventListener("click", () => {
        const header = button.closest("th"), column = headers.indexOf(header);
        const textual = button.dataset.sort === "text";
        const before = header.getAttribute("aria-sort");
        const direction = before === "none" ? (textual ? "ascending" : "descending") : before === "ascending" ? "descending" : "ascending";
        for (const h of headers) if (h.hasAttribute("aria-sort")) h.setAttribute("aria-sort", h === header ? direction : "none");
        const sign = direction === "ascending" ? 1 : -1;
        const keyed = [...rows].map((row) => [row, row.cells[column].dataset.k]);
        const collator = new Intl.Collator(undefined, { numeric: true });
        keyed.sort(([, a], [, b]) => {
          if (textual) return sign * collator.compare(a, b);
          const [u, v] = [Number(a), Number(b)];
          if (Number.isNaN(u) || Number.isNaN(v)) return Number.isNaN(u) - Number.isNaN(v); // unknown ones last, both ways
          return sign * (u - v);
        });
        const fragment = document.createDocumentFragment();
        for (const [row] of keyed) {
          fragment.append(row);
          if (panels.has(row)) fragment.append(panels.get(row));
        }
        body.append(fragment);
      });
    }
    if (rows.length === 1) toggle(rows[0], true);
  }
})();
