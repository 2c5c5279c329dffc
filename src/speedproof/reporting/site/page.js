/* The history page: routes, tables and charts. Every name reaches the page as text, never as markup. */
"use strict";
const speedproof = (() => {
  const $ = id => document.getElementById(id);
  const SHOWN = 100; // rows of a table before "all"
  let index, chart, view = {}, waiting = new Map(), loaded = new Map();

  // ---- small things
  function el(tag, props = {}, ...children) {
    const node = document.createElement(tag);
    for (const [k, v] of Object.entries(props)) {
      if (k === "class") node.className = v; else if (k.startsWith("on")) node.addEventListener(k.slice(2), v);
      else if (k in node) node[k] = v; else node.setAttribute(k, v);
    }
    node.append(...children.filter(c => c !== null && c !== undefined));
    return node;
  }
  const digits = x => {
    const apart = Math.abs(x - 1);
    const places = x >= 10 || apart >= 0.0995 ? 2 : Math.min(6, Math.max(2, -Math.floor(Math.log10(apart || 1))));
    return (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(places)) + "x";
  };
  const SCALES = { s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]], B: [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]] };
  function amount(x, unit) {
    if (unit === "x") return digits(x);
    if (!x) return "0";
    const scale = (SCALES[unit] || [[1e9, "G" + unit], [1e6, "M" + unit], [1e3, "k" + unit], [1, unit]]).find(s => Math.abs(x) >= s[0] * 0.9995);
    const [by, name] = scale || (SCALES[unit] || [[1, unit]]).at(-1);
    return `${Number((x / by).toPrecision(4))} ${name}`.trim();
  }
  const short = sha => (/^[0-9a-f]{12,}$/.test(sha) ? sha.slice(0, 9) : sha);
  const day = date => date.slice(0, 10);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const word = (series, c) => (series.m === "time" ? (c.slower ? "slower" : "faster") : c.slower ? "worse" : "better") + (c.drift ? ", drift" : "");
  const title = s => s.n + (s.m === "time" ? "" : ` (${s.m})`);
  const link = i => ({ b: index.series[i].n, m: index.series[i].m === "time" ? null : index.series[i].m });
  const current = () => index.series.findIndex(s => s.n === view.b && s.m === (view.m || "time"));
  const basis = t => (t.a ? `relative to ${short(t.b)}` : t.b);

  // ---- permalinks: everything that is shown stands behind the #
  function route(change) {
    const params = new URLSearchParams();
    for (const [k, v] of Object.entries({ ...view, ...change })) if (v !== "" && v !== null && v !== undefined) params.set(k, v);
    return "#" + params.toString();
  }
  function go(change, replace) {
    const to = route(change);
    if (replace) { history.replaceState(null, "", to); view = Object.fromEntries(new URLSearchParams(to.slice(1))); }
    else location.hash = to;
  }
  function commitLink(k, text) {
    const [sha] = index.commits[k];
    const name = el("code", {}, text || short(sha));
    return index.link ? el("a", { href: index.link + encodeURIComponent(sha), rel: "noopener noreferrer" }, name) : name;
  }

  // ---- the overview
  function table(heads, rows, all) {
    const body = el("tbody");
    const fill = many => body.replaceChildren(...rows.slice(0, many).flatMap(make => make()));
    fill(SHOWN);
    const head = el("tr", {}, ...heads.map(([name, cls, sort]) => (name ? el("th", { class: cls || "", scope: "col", ...(sort ? { "aria-sort": sort.now } : {}) },
      sort ? el("button", { type: "button", onclick: sort.by }, name) : name) : el("td", { class: cls || "" }))));
    const parts = [el("div", { class: "wide" }, el("table", { class: all }, el("thead", {}, head), body))];
    if (rows.length > SHOWN) parts.push(el("button", { type: "button", onclick: e => { fill(rows.length); e.target.remove(); } }, `all ${rows.length} ${all}`));
    return parts;
  }
  const tone = c => (c.slower ? "slower" : "faster");
  const badge = (state, text, cls) => el("span", { class: `badge ${state === "stands" ? cls : "dim"}` }, text);
  function changeRow(c) { // of one benchmark
    const s = index.series[c.s], [, subject, date] = index.commits[c.k];
    return el("tr", {},
      s.tracks.length > 1 ? el("td", { class: `dim c${c.t % 6}` }, el("span", { class: "mark" }), el("span", { class: "opt" }, basis(s.tracks[c.t]))) : null,
      el("td", { class: `right ${tone(c)}` }, c.times), el("td", { class: `keep ${tone(c)}` }, word(s, c)),
      el("td", { class: "right opt" }, c.least),
      el("td", { class: "keep" }, commitLink(c.k)), el("td", { class: "opt" }, subject), el("td", { class: "keep opt" }, day(date)), el("td", {}, badge(c.state, c.today, tone(c))));
  }
  const benchmarkLink = c => el("a", { href: route({ ...link(c.s), c: index.commits[c.k][0], x: null, o: null }) }, title(index.series[c.s]));
  const machineOf = c => (index.series[c.s].tracks.length > 1 ? el("span", { class: "dim" }, " " + basis(index.series[c.s].tracks[c.t])) : "");
  function byCommit(changes) { // those that stand first, the newest first
    const groups = new Map();
    for (const c of changes) groups.set(c.k, [...(groups.get(c.k) || []), c]);
    const stands = g => g.some(c => c.state === "stands");
    return [...groups.values()].map(g => g.sort((x, y) => Math.abs(Math.log(y.f)) - Math.abs(Math.log(x.f))))
      .sort((x, y) => stands(y) - stands(x) || y[0].k - x[0].k);
  }
  function commitRows(g) { // a commit and, once it is opened, its benchmarks
    const [sha, subject, date, author] = index.commits[g[0].k], open = view.o === sha, many = g.length > 1;
    const worse = g.filter(c => c.slower), better = g.filter(c => !c.slower), led = worse.length ? worse : g, first = led[0];
    const wordOf = c => word(index.series[c.s], many ? { ...c, drift: false } : c);
    const other = worse.length && better.length ? `, ${better.length > 1 ? "to " : ""}${better[0].times} ${wordOf(better[0])}` : "";
    const states = g.map(c => c.state), best = states.includes("stands") ? "stands" : states[0], n = states.filter(x => x === best).length;
    const owners = [...new Set(g.map(c => c.who).filter(Boolean))].join(" and ");
    const today = !many ? first.today : n < g.length ? `${n} of ${g.length} ${best === "stands" ? "stand" : best}` : best === "decided" ? first.today : best;
    const said = index.said.filter(([k, name]) => k === g[0].k && (!name || g.some(c => index.series[c.s].n === name)));
    const rows = [el("tr", {},
      el("td", { class: "commit" }, ...(subject ? [el("b", {}, subject), el("br")] : []), commitLink(g[0].k), el("span", { class: "dim" }, ["", author, day(date)].filter((x, i) => !i || x).join(" · ")),
        ...said.flatMap(([, name, text]) => [el("br"), el("span", { class: "dim" }, (name ? name + " " : "") + text)])),
      el("td", { class: "name" }, many ? el("button", { type: "button", "aria-expanded": String(open), onclick: () => { go({ o: open ? null : sha }, true); overview(); } }, `${g.length} benchmarks`) : benchmarkLink(first), many ? "" : machineOf(first)),
      el("td", { class: `right ${tone(first)}` }, (led.length > 1 ? "to " : "") + first.times),
      el("td", { class: `${many ? "" : "keep "}${tone(first)}` }, wordOf(first) + other),
      el("td", {}, badge(best, today + (owners && best === "stands" && !today.includes(owners) ? `, ${owners} on it` : ""), tone(first))))];
    if (open && many) rows.push(...g.map(c => el("tr", { class: "sub" },
      el("td", { class: "name" }, benchmarkLink(c), machineOf(c)), el("td", { class: "dim" }, c.least ? `at least ${c.least}` : ""),
      el("td", { class: `right ${tone(c)}` }, c.times), el("td", { class: `keep ${tone(c)}` }, word(index.series[c.s], c)), el("td", {}, badge(c.state, c.today, tone(c))))));
    return rows;
  }
  function spark(text) {
    const points = [...text].map((ch, i) => `${i},${35 - parseInt(ch, 36)}`).join(" ");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "spark"); svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("viewBox", `0 -2 ${Math.max(text.length - 1, 1)} 39`); svg.setAttribute("preserveAspectRatio", "none");
    const line = document.createElementNS(svg.namespaceURI, "polyline");
    line.setAttribute("points", points); svg.append(line);
    return svg;
  }
  const wanted = s => { const q = (view.q || "").toLowerCase().split(/\s+/).filter(Boolean); const name = title(s).toLowerCase(); return q.every(part => name.includes(part)); };
  function matching() {
    return index.series.map((s, i) => i).filter(i => wanted(index.series[i]) && (!view.t || index.series[i].tracks.some(t => t.b === view.t)));
  }
  function overview() {
    const main = $("main"), last = Number(view.w || 0), from = last ? index.commits.length - last : 0;
    const chosen = new Set(matching());
    const here = index.changes.filter(c => chosen.has(c.s) && c.k >= from && (!view.t || index.series[c.s].tracks[c.t].b === view.t) && (!view.s || c.state === view.s));
    const [found, apart] = [0, 1].map(which => here.filter(c => c.apart === which));
    const commits = changes => table([["commit"], ["benchmark"], ["change", "right"], [""], ["today"]], byCommit(changes).map(g => () => commitRows(g)), "commits");
    const lately = el("select", { "aria-label": "how far back", onchange: e => go({ w: e.target.value }) },
      ...[[30, "the last 30 commits"], [100, "the last 100 commits"], [365, "the last 365 commits"], [0, "all commits"]]
        .map(([v, t]) => el("option", { value: v || "", selected: v === last }, t)));
    const state = el("select", { "aria-label": "state", onchange: e => go({ s: e.target.value }) },
      ...[["", "any state"], ["stands", "that stand"], ["undone", "undone"], ["decided", "decided"]].map(([v, text]) => el("option", { value: v, selected: v === (view.s || "") }, text)));
    const bases = [...new Set(index.series.flatMap(s => s.tracks.map(t => t.b)))];
    const machine = bases.length < 2 ? null : el("select", { "aria-label": "machine or anchor", onchange: e => go({ t: e.target.value }) },
      el("option", { value: "" }, "all machines"), ...bases.map(b => el("option", { value: b, selected: b === view.t }, short(b))));
    const counts = new Map();
    for (const c of index.changes) counts.set(c.s, (counts.get(c.s) || 0) + 1);
    const sizes = { last: i => index.series[i].tracks[0].last, commits: i => index.series[i].tracks[0].c, changes: i => counts.get(i) || 0 };
    const size = sizes[view.r]; // names ascend, numbers descend
    const sorted = key => ({ now: key !== (size ? view.r : "") ? "none" : key ? "descending" : "ascending", by: () => { go({ r: key }, true); overview(); } });
    const rows = [...chosen].sort((a, b) => (size && size(b) - size(a)) || (title(index.series[a]) < title(index.series[b]) ? -1 : 1)).map(i => () => {
      const s = index.series[i], t = s.tracks[0], n = counts.get(i);
      return el("tr", {}, el("td", { class: "name" }, el("a", { href: route({ ...link(i), c: null, x: null }) }, title(s))), el("td", {}, spark(t.p)),
        el("td", { class: "right" }, amount(t.last, t.a ? "x" : s.u)), el("td", { class: "right opt" }, String(t.c)), el("td", { class: "right opt" }, n ? String(n) : ""));
    });
    main.replaceChildren(
      el("h1", {}, index.headline), el("p", { class: "dim" }, index.proof), ...(index.floor || []).map((told) => el("p", {}, told)),
      el("div", { class: "controls" }, el("span", {}, "Changes in"), lately, state, machine, el("output", { class: "dim" }, `${here.length} of ${index.changes.length} changes`)),
      ...(found.length ? commits(found) : [el("p", {}, "No change is shown here.")]),
      ...(apart.length ? [el("h2", {}, "Metrics that do not decide"), el("p", { class: "dim" }, "At the same risk, but one of their own."), ...commits(apart)] : []),
      here.length ? el("p", { class: "dim" }, "Accept a change: ", el("code", {}, "speedproof history bless COMMIT REASON"), "; look after it: ", el("code", {}, "speedproof history note COMMIT --assign WHO")) : "",
      el("h2", {}, `${chosen.size} of ${index.series.length} benchmarks`),
      ...table([["benchmark", "", sorted("")], [""], ["last", "right", sorted("last")], ["commits", "right opt", sorted("commits")],
        ["changes", "right opt", sorted("changes")]], rows, "benchmarks"));
    document.title = "Performance history";
  }

  // ---- one benchmark; its data comes as a script, which also works from a file
  function load(i, then) {
    if (loaded.has(i)) return then(loaded.get(i));
    if (waiting.has(i)) return void waiting.set(i, then);
    waiting.set(i, then);
    const script = el("script", { src: `data/${i}.js?${index.version}` });
    script.onerror = () => { waiting.delete(i); $("main").replaceChildren(el("p", {}, `data/${i}.js is missing: write the page again.`)); };
    document.head.append(script);
  }
  function series(i, tracks) {
    loaded.set(i, tracks.map(t => {
      const k = []; // places of commits: runs of neighbours as [first, how many]
      for (const [first, many] of t.k) for (let j = 0; j < many; j++) k.push(first + j);
      const at = v => Math.exp(t.o + v * t.q);
      return { ...t, x: k, y: t.v.map(at), lo: t.v.map((v, j) => (t.l && t.l[j] >= 0 ? at(v - t.l[j]) : null)), hi: t.v.map((v, j) => (t.h && t.h[j] >= 0 ? at(v + t.h[j]) : null)) };
    }));
    const then = waiting.get(i); waiting.delete(i); if (then) then(loaded.get(i));
  }
  function benchmark(i) {
    const s = index.series[i];
    if (!s) return void $("main").replaceChildren(el("p", {}, "There is no such benchmark here."));
    document.title = title(s) + " · performance history";
    const changes = index.changes.filter(c => c.s === i);
    const box = el("div", { id: "chart", tabIndex: 0, role: "img", "aria-label": `${title(s)} over ${index.commits.length} commits: arrow keys move along them` });
    $("main").replaceChildren(
      el("h1", {}, title(s)), el("ul", { class: "legend" }), box, el("p", { id: "at", class: "dim", "aria-live": "polite" }, "A click or the arrow keys choose a commit; drag to zoom, double click for everything."),
      ...(changes.length ? table([...(s.tracks.length > 1 ? [[""]] : []), ["change", "right"], [""], ["at least", "right opt"], ["first commit"], ["", "opt"], ["", "opt"], [""]], changes.map(c => () => changeRow(c)), "changes") : [el("p", { class: "dim" }, "No change is shown in this benchmark.")]),
      el("p", { class: "dim" }, "Bars are intervals of the median at 95 % within a session, or all sessions of the commit; bands are the commits that may have made a change, or a whole drift."));
    load(i, tracks => draw(i, tracks, changes));
  }
  function draw(i, tracks, changes) {
    const box = $("chart"), s = index.series[i];
    if (!box || current() !== i) return;
    if (chart) chart.destroy();
    const hidden = new Set((view.h || "").split(",").filter(Boolean).map(Number));
    const xs = [...new Set(tracks.flatMap(t => t.x))].sort((a, b) => a - b), place = new Map(xs.map((x, j) => [x, j]));
    const wide = (xs.at(-1) - xs[0]) || 1, whole = { min: xs[0] - wide * 0.02 - 0.5, max: xs.at(-1) + wide * 0.02 + 0.5 };
    const columns = tracks.map(t => { const y = Array(xs.length).fill(null); t.x.forEach((x, j) => (y[place.get(x)] = t.y[j])); return y; });
    const unit = tracks[0].a ? "x" : s.u, colour = j => css(`--s${j % 6}`);
    const axis = { stroke: () => css("--soft"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1 }, font: "12px system-ui" };
    const shown = () => tracks.map((t, j) => [t, j]).filter(([, j]) => !hidden.has(j));
    const range = (u, min, max) => { // of what is visible, with the intervals
      let lo = Infinity, hi = -Infinity;
      const [first, end] = u.series[0].idxs || [0, xs.length - 1];
      for (const [t] of shown()) t.x.forEach((x, j) => { if (x >= xs[first] && x <= xs[end]) { lo = Math.min(lo, t.lo[j] ?? t.y[j]); hi = Math.max(hi, t.hi[j] ?? t.y[j]); } });
      if (!(hi >= lo)) return [0, 1];
      const pad = (hi - lo) * 0.08 || Math.abs(hi) * 0.05 || 1;
      return [lo - pad, hi + pad];
    };
    const labelOf = (u, text, x, y, tone) => { u.ctx.fillStyle = css(tone); u.ctx.fillText(text, x, y); };
    function under(u) { // bands of change points, tags and anchors
      const { ctx, bbox } = u, px = devicePixelRatio; ctx.save();
      ctx.beginPath(); ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height); ctx.clip();
      ctx.font = `${11 * px}px system-ui`; ctx.textBaseline = "top"; ctx.textAlign = "left";
      const X = x => u.valToPos(x, "x", true), used = []; // ends of labels, a line of text each
      const free = (x, width) => { let line = used.findIndex(end => end < x); if (line < 0) line = used.length; used[line] = x + width + 6 * px; return line; };
      for (const c of changes) {
        if (hidden.has(c.t)) continue;
        const tone = c.slower ? "--slower" : "--faster";
        ctx.fillStyle = css(tone); ctx.globalAlpha = 0.13;
        const left = X(c.e - 0.5), right = Math.max(X(c.l - 0.5), left + 2 * px); ctx.fillRect(left, bbox.top, right - left, bbox.height);
        ctx.globalAlpha = 1; ctx.fillRect(X(c.k - 0.5), bbox.top, px, bbox.height);
        const text = `${c.times} ${word(s, c)}`, at = X(c.k - 0.5) + 4 * px, width = ctx.measureText(text).width;
        if (at > bbox.left - width && at < bbox.left + bbox.width) labelOf(u, text, at, bbox.top + (2 + 13 * free(at, width)) * px, tone);
      }
      ctx.textBaseline = "bottom"; used.length = 0;
      for (const [k, name] of index.tags.filter(([k]) => k >= u.scales.x.min && k <= u.scales.x.max)) {
        const at = X(k), width = ctx.measureText(name).width;
        ctx.fillStyle = css("--faint"); ctx.fillRect(at, bbox.top + bbox.height - 8 * px, px, 8 * px);
        const line = free(at, width); if (line < 2) labelOf(u, name, at + 3 * px, bbox.top + bbox.height - (1 + 13 * line) * px, "--soft");
      }
      ctx.setLineDash([3 * px, 3 * px]); ctx.strokeStyle = css("--faint"); ctx.textBaseline = "top";
      for (const [t] of shown()) for (const [x, name] of t.j || []) {
        ctx.beginPath(); ctx.moveTo(X(x - 0.5), bbox.top); ctx.lineTo(X(x - 0.5), bbox.top + bbox.height); ctx.stroke();
        labelOf(u, `anchor ${short(name)}`, X(x - 0.5) + 4 * px, bbox.top + bbox.height * 0.5, "--soft");
      }
      ctx.restore();
    }
    function intervals(u) {
      const { ctx, bbox } = u; ctx.save(); ctx.beginPath(); ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height); ctx.clip();
      ctx.lineWidth = devicePixelRatio; ctx.globalAlpha = few ? 0.35 : 0.2;
      for (const [t, n] of shown()) {
        ctx.strokeStyle = colour(n); ctx.beginPath();
        t.x.forEach((x, j) => { if (t.lo[j] !== null && t.hi[j] !== null && x >= u.scales.x.min && x <= u.scales.x.max) { const at = u.valToPos(x, "x", true); ctx.moveTo(at, u.valToPos(t.lo[j], "y", true)); ctx.lineTo(at, u.valToPos(t.hi[j], "y", true)); } });
        ctx.stroke();
      }
      ctx.restore();
    }
    const tip = el("div", { id: "tip", hidden: true });
    function tell(j) { // of a point: the commit, what was measured, the change
      const k = xs[j], [sha, subject, date] = index.commits[k] || ["", "", ""];
      const lines = shown().map(([t, n]) => [t, n, t.x.indexOf(k)]).filter(([, , at]) => at >= 0)
        .map(([t, , at]) => `${tracks.length > 1 ? (t.br ? `${t.br} ${short((t.cm || {})[k] || "")}`.trim() : basis(t)) + ": " : ""}${amount(t.y[at], t.a ? "x" : s.u)}${t.lo[at] === null ? "" : ` (${amount(t.lo[at], t.a ? "x" : s.u)} to ${amount(t.hi[at], t.a ? "x" : s.u)})`}`);
      return { k, sha, subject, date, lines };
    }
    function point(u) {
      const j = u.cursor.idx;
      if (j === null || j === undefined || u.cursor.left < 0) { tip.hidden = true; return; }
      const told = tell(j);
      tip.replaceChildren(el("b", {}, told.subject || short(told.sha)), el("br"), `${short(told.sha)} ${day(told.date)}`, ...told.lines.flatMap(line => [el("br"), line]));
      tip.hidden = false;
      const left = u.valToPos(xs[j], "x") + u.over.offsetLeft, w = tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(left + (left > box.clientWidth / 2 ? -w - 12 : 12), box.clientWidth - w))}px`; tip.style.top = "2.5rem";
    }
    let pinned = null;
    function pin(j) { // the chosen commit, in words and in the address
      pinned = Math.max(0, Math.min(xs.length - 1, j));
      const told = tell(pinned), at = $("at");
      at.className = ""; at.replaceChildren(commitLink(told.k), ` ${told.subject} `, el("span", { class: "dim" }, day(told.date)), el("br"), told.lines.join("; "));
      go({ c: told.sha }, true); chart.redraw(false);
    }
    function marker(u) {
      if (pinned === null) return;
      u.ctx.fillStyle = css("--ink"); u.ctx.globalAlpha = 0.6;
      u.ctx.fillRect(u.valToPos(xs[pinned], "x", true), u.bbox.top, devicePixelRatio, u.bbox.height); u.ctx.globalAlpha = 1;
    }
    const size = () => ({ width: box.clientWidth, height: Math.max(280, Math.min(520, innerHeight * 0.55)) });
    const few = xs.length <= 400;
    const keep = u => { // the zoom stands in the address
      const { min, max } = u.scales.x;
      if (min === undefined || min === null) return;
      const all = min <= whole.min + 1e-9 && max >= whole.max - 1e-9;
      go({ x: all ? null : `${Math.ceil(min)},${Math.floor(max)}` }, true);
    };
    const [from, to] = (view.x || "").split(",").map(Number);
    chart = new uPlot({
      ...size(), legend: { show: false }, padding: [14, 8, 0, 0],
      scales: { x: { time: false, min: to > from ? from : whole.min, max: to > from ? to : whole.max }, y: { range } },
      series: [{}, ...tracks.map((t, j) => ({ show: !hidden.has(j), stroke: () => colour(j), width: few ? 1 : 0, points: { show: true, size: few ? 6 : 4, fill: () => colour(j), width: 0 }, spanGaps: true, dash: t.br ? [5, 4] : undefined }))],
      axes: [{ ...axis, splits: (u, a, min, max) => { const step = Math.max(1, Math.ceil((max - min) / Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 110)))), out = []; for (let k = Math.max(0, Math.ceil(min)); k <= max; k += step) out.push(k); return out; },
        values: (u, splits) => splits.map(k => (index.commits[k] ? day(index.commits[k][2]) || short(index.commits[k][0]) : "")) },
      { ...axis, size: 76, values: (u, splits) => splits.map(v => amount(v, unit)) }],
      cursor: { points: { size: 9 }, drag: { x: true, y: false, dist: 6 } },
      hooks: { drawAxes: [under, intervals], draw: [marker], setCursor: [point], setScale: [(u, key) => key === "x" && u.status === 1 && keep(u)] },
    }, [xs, ...columns], box);
    box.append(tip);
    let down = null;
    chart.over.addEventListener("pointerdown", e => (down = [e.clientX, e.clientY]));
    chart.over.addEventListener("pointerup", e => { if (down && Math.hypot(e.clientX - down[0], e.clientY - down[1]) < 6 && chart.cursor.idx !== null) pin(chart.cursor.idx); });
    chart.over.addEventListener("dblclick", () => zoom(0));
    function zoom(by) {
      const { min, max } = chart.scales.x, middle = pinned !== null && xs[pinned] >= min && xs[pinned] <= max ? xs[pinned] : (min + max) / 2, half = ((max - min) / 2) * by;
      chart.setScale("x", by === 0 ? whole : { min: Math.max(whole.min, middle - Math.max(half, 2)), max: Math.min(whole.max, middle + Math.max(half, 2)) });
    }
    box.onkeydown = e => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
      if (e.key in steps) pin((pinned ?? (e.key === "ArrowLeft" ? xs.length : -1)) + steps[e.key]);
      else if (e.key === "Home") pin(0); else if (e.key === "End") pin(xs.length - 1);
      else if (e.key === "Enter" && pinned !== null && index.link) location.assign(index.link + encodeURIComponent(index.commits[xs[pinned]][0]));
      else return;
      e.preventDefault();
    };
    box.zoom = zoom;
    document.querySelector(".legend").replaceChildren(...tracks.map((t, j) => el("li", { class: `c${j % 6}` },
      el("button", { type: "button", "aria-pressed": String(!hidden.has(j)), onclick: () => { hidden.has(j) ? hidden.delete(j) : hidden.add(j); go({ h: [...hidden].join(",") }, true); draw(i, tracks, changes); } },
        el("span", { class: "mark" }), t.br ? `${t.br}, ${basis(t)}` : basis(t)))));
    if (view.c) { const k = index.commits.findIndex(c => c[0] === view.c), j = place.get(k); if (j !== undefined) pin(j); }
    window.onresize = () => chart && chart.setSize(size());
  }

  // ---- what is shown follows the address
  function show() {
    view = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if (document.activeElement !== $("filter")) $("filter").value = view.q || "";
    if (chart) { chart.destroy(); chart = null; }
    if (view.b !== undefined) benchmark(current()); else overview();
  }
  function step(by) {
    const list = matching().sort((a, b) => (title(index.series[a]) < title(index.series[b]) ? -1 : 1)), at = list.indexOf(current());
    const next = view.b === undefined ? list[0] : list[at + by];
    if (next !== undefined) go({ ...link(next), x: null, c: null, h: null });
  }
  function start(data) {
    index = data;
    $("made").textContent = `${index.made}.`;
    $("filter").addEventListener("input", e => { go({ q: e.target.value, b: null, m: null, c: null, x: null, h: null }, true); overview(); });
    addEventListener("hashchange", () => { show(); scrollTo(0, 0); $("main").focus({ preventScroll: true }); });
    const remembered = fn => { try { return fn(); } catch { return null; } }; // storage may be forbidden
    const theme = value => { if (value) document.documentElement.dataset.theme = value; if (chart) chart.redraw(false); };
    theme(remembered(() => localStorage.getItem("theme")));
    $("theme").addEventListener("click", () => {
      const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      theme(dark ? "light" : "dark"); remembered(() => localStorage.setItem("theme", dark ? "light" : "dark"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart && chart.redraw(false));
    addEventListener("keydown", e => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "Escape") { if (document.activeElement === $("filter")) $("filter").blur(); else if (view.b !== undefined) go({ b: null, x: null, c: null, h: null }); return; }
      if (/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) return;
      const box = $("chart");
      if (e.key === "/") $("filter").focus(); else if (e.key === "j") step(1); else if (e.key === "k") step(-1);
      else if (box && box.zoom && "+-0=".includes(e.key)) box.zoom({ "+": 0.5, "=": 0.5, "-": 2, 0: 0 }[e.key]);
      else if (box && box.onkeydown && e.target !== box && /^Arrow(Left|Right)$/.test(e.key)) { box.focus(); box.onkeydown(e); return; }
      else return;
      e.preventDefault();
    });
    show();
  }
  return { index: start, series };
})();
