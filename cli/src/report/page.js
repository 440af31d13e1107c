"use strict";
// Colours that people with any colour vision distinguish (Okabe and Ito).
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a00", "#777777", "#5a3e85", "#a6761d"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [1, 2], [12, 4], [6, 2]];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const el = (name, text, parent) => {
  const node = document.createElement(name);
  if (text !== undefined && text !== null) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
};
const svgEl = (name, attributes, parent, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
};
const redraws = [];

// A card with a title, a sentence, the chart, and the same figures as a table and as CSV.
function card(title, says, head, rows, wide) {
  const section = el("section", null, document.getElementById("main"));
  if (wide) section.className = "wide";
  el("h2", title, section);
  el("p", says, section);
  const chart = el("div", null, section);
  const tools = el("div", null, section);
  tools.className = "tools";
  const show = el("button", "show as table", tools);
  const save = el("button", "download CSV", tools);
  const scroll = el("div", null, section);
  scroll.className = "scroll";
  scroll.hidden = true;
  show.onclick = () => {
    if (!scroll.firstChild) fill(scroll, head, rows);
    scroll.hidden = !scroll.hidden;
    show.textContent = scroll.hidden ? "show as table" : "hide table";
  };
  save.onclick = () => {
    const quoted = (cell) => {
      const text = cell === null || cell === undefined ? "" : String(cell);
      return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    };
    const text = [head].concat(rows).map((row) => row.map(quoted).join(",")).join("\n") + "\n";
    const link = el("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = title.toLowerCase().replace(/[^a-z0-9]+/g, "-") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return chart;
}

function fill(parent, head, rows) {
  const table = el("table", null, parent);
  const top = el("tr", null, el("thead", null, table));
  head.forEach((cell) => el("th", cell, top));
  const body = el("tbody", null, table);
  rows.forEach((row) => {
    const line = el("tr", null, body);
    row.forEach((cell) => el("td", cell === null || cell === undefined ? "" : String(cell), line));
  });
}

// Axes of what is counted, and their steps: there is no half container.
const COUNTED = ["containers", "applications", "threads"];
const WHOLE = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));

// Whether a value stands between gaps, where no line shows it.
const alone = (ys) => { const all = ys.filter((y) => y !== undefined); return all.some((y, i) => y !== null && [all[i - 1], all[i + 1]].every((by) => by === null || by === undefined)); };

// Lines over one axis; `stacked` fills each line down to the one before.
function lines(chart, xs, series, options) {
  const draw = () => {
    chart.textContent = "";
    const ink = css("--ink"), grid = css("--line");
    const axis = (label, more) => Object.assign({ label: label, stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } }, more);
    let data = series.map((one) => one.ys);
    if (options.stacked) {
      const sum = xs.map(() => 0);
      data = data.map((ys) => ys.map((y, i) => (sum[i] += y || 0)));
    }
    const kind = (one, i) => (one.colour === undefined ? i : one.colour);
    const shown = series.map((one, i) => ({
      label: one.name,
      stroke: one.ink ? ink : COLOURS[kind(one, i) % COLOURS.length],
      width: 2,
      dash: options.stacked ? [] : DASHES[kind(one, i) % DASHES.length],
      points: { show: xs.length < 20 || (!options.stacked && alone(one.ys)), fill: css("--card") },
      fill: options.stacked ? COLOURS[kind(one, i) % COLOURS.length] : undefined,
      paths: options.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
      value: (u, v, s, at) => (at === null || at === undefined || one.ys[at] === null || one.ys[at] === undefined ? "-" : String(one.ys[at])),
    }));
    if (options.stacked) { data.reverse(); shown.reverse(); }
    new uPlot({
      width: Math.max(280, chart.clientWidth),
      height: 300,
      scales: { x: { time: false, distr: options.logX ? 3 : 1 }, y: { distr: options.logY ? 3 : 1, range: options.logY ? undefined : (u, low, high) => [0, (options.most || high) > 0 ? (options.most || high) * 1.05 : 1] } },
      axes: [axis(options.x, { values: options.xValues, incrs: options.xIncrs || (COUNTED.includes(options.x) ? WHOLE : undefined) }), axis(options.y, { size: 70, incrs: COUNTED.includes(options.y) ? WHOLE : undefined })],
      series: [{ label: options.x, value: options.xValue || ((u, v) => (v === null ? "-" : String(v))) }].concat(shown),
      cursor: { drag: { x: true, y: false } },
    }, [xs].concat(data), chart);
  };
  redraws.push(draw);
  draw();
}

// Horizontal bars, in groups of one label each.
function bars(chart, groups, unit) {
  const draw = () => {
    chart.textContent = "";
    const width = Math.max(280, chart.clientWidth), left = Math.min(220, width * 0.38);
    const said = (bar) => bar.text + (bar.note ? " " + bar.note : "");
    const right = 10 + 7 * Math.max(0, ...groups.flatMap((group) => group.bars.map((bar) => said(bar).length)));
    const count = groups.reduce((sum, group) => sum + group.bars.length, 0);
    const height = count * 18 + groups.length * 10 + 10;
    const most = Math.max(1, ...groups.flatMap((group) => group.bars.map((bar) => bar.value)));
    const svg = svgEl("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, chart);
    let y = 6;
    groups.forEach((group) => {
      svgEl("text", { x: left - 8, y: y + 12, "text-anchor": "end" }, svg, clipped(group.label, left));
      group.bars.forEach((bar) => {
        const long = Math.max(1, (bar.value / most) * (width - left - right));
        svgEl("rect", { x: left, y: y + 2, width: long, height: 13, fill: COLOURS[bar.colour % COLOURS.length] }, svg);
        svgEl("text", { x: left + long + 5, y: y + 13 }, svg, said(bar));
        y += 18;
      });
      y += 10;
    });
    svgEl("title", {}, svg, unit);
  };
  redraws.push(draw);
  draw();
}

function clipped(text, width) {
  const most = Math.max(6, Math.floor(width / 7) - 2);
  return text.length <= most ? text : "…" + text.slice(text.length - most + 1);
}

function legend(parent, names) {
  const line = el("p", null, parent);
  names.forEach((name, i) => {
    const entry = el("span", null, line), mark = el("span", "■ ", entry);
    entry.style.display = "inline-block";
    mark.style.color = COLOURS[i % COLOURS.length];
    el("span", name + "   ", entry).style.whiteSpace = "pre";
  });
}

// One digit after the point at most, and none where it is 0.
const short = (value) => String(+value.toFixed(1));
const seconds = (value) => (value >= 172800 ? short(value / 86400) + " d" : value >= 7200 ? short(value / 3600) + " h" : value >= 120 ? short(value / 60) + " min" : short(value) + " s");
// The marks of one axis have one unit: the largest of which each is a whole number or a half one.
function axisTimes(at) {
  const last = Math.max(0, ...at), step = Math.min(...at.filter((one) => one > 0));
  const [name, unit] = [["d", 86400], ["h", 3600], ["min", 60]].find(([, unit]) => last >= 2 * unit && step % (unit / 2) === 0) || ["s", 1];
  return at.map((one) => (one === null ? null : one === 0 ? "0" : short(one / unit) + " " + name));
}
// Steps of a time axis in seconds: each mark is a whole number of its unit, or a half one.
const DAY = 86400, DAYS = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power * DAY));
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200].concat(DAYS);
// The marks of a time axis that ends at some second: the smallest step that needs at most so many.
function marks(end, most) {
  const all = [0.1, 0.2, 0.5].concat(STEPS), step = all.find((one) => end / one < most) || all[all.length - 1];
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}
const timed = (y) => ({ x: "virtual time", y: y, xIncrs: STEPS, xValues: (u, splits) => axisTimes(splits), xValue: (u, value) => (value === null ? "-" : seconds(value)) });
const us = (ns) => (ns / 1000).toFixed(ns < 1e5 ? 2 : 0);
// A latency of nanoseconds in the unit that needs the fewest digits.
const long = (ns) => (ns < 1e3 ? ns + " ns" : ns < 1e6 ? +(ns / 1e3).toPrecision(2) + " us" : ns < 1e9 ? +(ns / 1e6).toPrecision(2) + " ms" : short(ns / 1e9) + " s");
const ms = (value) => {
  if (value >= 7200000) return (value / 3600000).toFixed(1) + " h";
  if (value >= 600000) return (value / 60000).toFixed(1) + " min";
  return value >= 1000 ? (value / 1000).toFixed(1) + " s" : value + " ms";
};

// Each phase and each tier has one place and one colour in all charts, whatever a run has of them.
const PHASES = ["propose", "refresh", "queue-order", "app-order", "headroom", "node-pick", "hand-off", "validate", "apply", "publish"];
const TIERS = ["never", "admission", "quota", "order", "placement", "progressing"];
const inOrder = (names, order) => order.filter((name) => names.includes(name)).concat(names.filter((name) => !order.includes(name)));
const placeOf = (name, order) => (order.includes(name) ? order.indexOf(name) : order.length);

function latency(data) {
  const runs = data.runs.filter((run) => run.latency.length);
  if (!runs.length) return;
  // One over the share above, so that each decade of the axis is one more nine.
  const xs = runs[0].latency.map(([share]) => 1e6 / Math.max(1, 1e6 - share));
  const label = (value) => { const share = 100 - 100 / value; return value >= 1e6 ? "max" : "p" + (share < 99 ? share.toFixed(share % 1 ? 1 : 0) : share.toFixed(Math.max(0, Math.round(Math.log10(value)) - 2))); };
  const head = ["share below", ...runs.map((run) => run.name + " us")];
  const rows = runs[0].latency.map(([share], i) => [share / 1e4 + " %", ...runs.map((run) => us(run.latency[i][1]))]);
  const chart = card("Latency of decisions by percentile", "How long one decision takes: tails, not averages. Each decade to the right is one more nine; both axes are logarithmic.", head, rows);
  lines(chart, xs, runs.map((run) => ({ name: run.name, ys: run.latency.map(([, ns]) => Math.max(0.001, ns / 1000)) })), {
    x: "percentile", y: "microseconds", logX: true, logY: true,
    xValues: (u, splits) => splits.map((value) => ([1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6].includes(value) ? label(value) : null)),
    xValue: (u, value) => (value === null ? "-" : label(value)),
  });
}

function rates(data) {
  const longest = data.runs.reduce((best, run) => (run.rate.at_s.length > best.rate.at_s.length ? run : best), data.runs[0]);
  if (!longest.rate.at_s.length) return;
  const xs = longest.rate.at_s;
  const width = xs.length > 1 ? xs[1] - xs[0] : 1;
  const at = (list) => xs.map((_, i) => (i < list.length ? list[i] : null));
  const series = [{ name: "asked", ys: at(longest.rate.asked), ink: true }].concat(data.runs.map((run, colour) => ({ name: run.name, ys: at(run.rate.placed), colour })));
  const head = ["at s", ...series.map((one) => one.name)];
  const rows = xs.map((x, i) => [x, ...series.map((one) => one.ys[i])]);
  const chart = card("Containers asked and placed", `Containers in each ${seconds(width)} of virtual time. A mode whose line stays below the line of what is asked falls behind.`, head, rows);
  lines(chart, xs, series, timed("containers"));
}

// The highest stack of some series at any moment.
const highest = (stacks) => Math.max(0, ...stacks.flatMap((series) => (series.length ? series[0].map((_, i) => series.reduce((sum, ys) => sum + (ys[i] || 0), 0)) : [])));

function shares(data) {
  const most = highest(data.runs.map((run) => Object.values(run.usage.queues).map((ys) => ys.map(amounts(run.usage)[1]))));
  const all = [...new Set(data.runs.flatMap((run) => Object.keys(run.usage.queues)))].sort();
  data.runs.forEach((run) => {
    const names = Object.keys(run.usage.queues);
    if (!names.length) return;
    const xs = run.usage.at_s;
    const [of, scaled] = amounts(run.usage);
    const head = ["at s", ...names];
    const rows = xs.map((x, i) => [x, ...names.map((name) => scaled(run.usage.queues[name][i]))]);
    const chart = card(`Use of queues, ${run.name}`, `What each leaf uses of ${of} over virtual time, one above the other.`, head, rows);
    lines(chart, xs, names.map((name) => ({ name: name, colour: all.indexOf(name), ys: run.usage.queues[name].map(scaled) })), { ...timed(of), stacked: true, most });
  });
}

// Memory in GiB, other types as they are.
const amounts = (usage) => (usage.of === "memory-mb" ? ["memory (GiB)", (value) => Math.round(value / 1024)] : [usage.of, (value) => value]);

// The moments of all runs, and what each run had last at each of them: nothing before its first moment and after its end.
function aligned(runs, of) {
  const xs = [...new Set(runs.flatMap((run) => run.usage.at_s))].sort((a, b) => a - b);
  const series = runs.map((run) => {
    const at = run.usage.at_s, values = of(run), last = at[at.length - 1];
    let i = -1;
    const ys = xs.map((x) => { while (i + 1 < at.length && at[i + 1] <= x) i += 1; return i < 0 || x > last ? null : values[i]; });
    return { name: run.name, ys: ys };
  });
  return [xs, series];
}

function waiting(data) {
  const runs = data.runs.filter((run) => run.usage.at_s.length);
  if (!runs.length) return;
  const [xs, series] = aligned(runs, (run) => run.usage.waiting);
  const head = ["at s", ...runs.map((run) => run.name)];
  const rows = xs.map((x, i) => [x, ...series.map((one) => one.ys[i])]);
  const chart = card("Containers that wait", "Containers asked and not placed yet, in the whole cluster.", head, rows);
  lines(chart, xs, series, timed("containers"));
}

// What each run refused or left at its end, by reason.
function left(data) {
  const head = ["run", "what became of them", "reason", "containers", "jobs", "set by"];
  const rows = data.runs.flatMap((run) => (run.figures.left || []).map((one) => [run.name, one.fate, one.reason, one.containers, one.jobs, one.property]));
  if (!rows.length) return;
  const chart = card("Refused or left at the end", "Containers that were not placed, by the dominant reason; `capsched why` has the evidence and what would help.", head, rows, true);
  const scroll = el("div", null, chart);
  scroll.className = "scroll";
  fill(scroll, head, rows);
}

function gaps(data) {
  const runs = data.runs.filter((run) => run.usage.at_s.length);
  if (!runs.length) return;
  const [xs, series] = aligned(runs, (run) => run.usage.gap_permille.map((value) => value / 10));
  const head = ["at s", ...runs.map((run) => run.name + " %")];
  const rows = xs.map((x, i) => [x, ...series.map((one) => one.ys[i])]);
  const chart = card("Fairness gap", "How far the leaf that is worst off is below its guarantee while it has demand, in percent of the cluster.", head, rows);
  lines(chart, xs, series, timed("percent"));
}

function waits(data) {
  const queues = [...new Set(data.runs.flatMap((run) => Object.keys(run.figures.first_container_ms_by_queue || {})))].sort();
  if (!queues.length) return;
  const of = (run, queue) => (run.figures.first_container_ms_by_queue || {})[queue];
  const head = ["queue", ...data.runs.flatMap((run) => [run.name + " p50 ms", run.name + " p95 ms"])];
  const rows = queues.map((queue) => [queue, ...data.runs.flatMap((run) => { const w = of(run, queue); return w ? [w.p50, w.p95] : ["", ""]; })]);
  const chart = card("From submission to the first container", "What users feel: half of the jobs of a queue wait at most p50, 95 in 100 at most p95 (the bar).", head, rows);
  const inner = el("div", null, chart);
  legend(chart, data.runs.map((run) => run.name));
  bars(inner, queues.map((queue) => ({ label: queue, bars: data.runs.map((run, colour) => ({ w: of(run, queue), colour })).filter((bar) => bar.w).map((bar) => ({ value: bar.w.p95, text: ms(bar.w.p95), note: `(p50 ${ms(bar.w.p50)})`, colour: bar.colour })) })), "wait at p95");
}

function heat(data) {
  data.runs.forEach((run) => {
    const use = run.node_use;
    if (!use.permille.length) return;
    const head = ["nodes from", ...use.at_s.map((at) => at + " s")];
    const rows = use.permille.map((row, i) => [use.groups[i], ...row.map((cell) => (cell / 10).toFixed(1))]);
    const chart = card(`Use of nodes over time, ${run.name}`, `Each row is ${use.group_size === 1 ? "a node" : use.group_size + " nodes"}, each column a span of virtual time. The colour is the most memory that the nodes of the row had in use at any time: from pale yellow for none to dark blue for all of it.`, head, rows);
    const draw = () => {
      chart.textContent = "";
      const width = Math.max(280, chart.clientWidth), left = 40, bottom = 22, cellH = 7, columns = use.at_s.length;
      const height = use.permille.length * cellH + bottom;
      const canvas = el("canvas", null, chart);
      const scale = window.devicePixelRatio || 1;
      canvas.width = width * scale; canvas.height = height * scale;
      canvas.style.width = width + "px"; canvas.style.height = height + "px";
      const g = canvas.getContext("2d");
      g.scale(scale, scale);
      const cellW = (width - left) / columns;
      use.permille.forEach((row, i) => row.forEach((cell, j) => {
        const share = Math.max(0, Math.min(1, cell / 1000));
        // From pale yellow to dark blue: lightness alone carries the value.
        const mix = (a, b) => Math.round(a + (b - a) * share);
        g.fillStyle = `rgb(${mix(255, 8)},${mix(250, 48)},${mix(214, 107)})`;
        g.fillRect(left + j * cellW, i * cellH, cellW + 0.5, cellH - 0.5);
      }));
      g.fillStyle = css("--ink");
      g.font = "12px sans-serif";
      g.fillText("nodes", 0, 12);
      const end = (columns * use.span_ms) / 1000;
      const times = marks(end, width < 500 ? 4 : 7), names = axisTimes(times);
      times.forEach((at, i) => {
        const x = left + (at / end) * (width - left);
        g.textAlign = x < left + 20 ? "left" : x > width - 20 ? "right" : "center";
        g.fillText(names[i], x, height - 6);
        g.fillRect(x, height - bottom, 1, 4);
      });
    };
    redraws.push(draw);
    draw();
  });
}

// Latencies over time: one column for each interval of the log, one row for each power of two.
function latencyMap(data) {
  data.runs.forEach((run) => {
    const map = run.latency_map;
    if (!map) return;
    const head = ["from us", ...map.at_ms.map((at) => at / 1000 + " s")];
    const rows = map.counts.map((row, i) => [us(map.from_ns[i]), ...row]);
    rows.push(["longest", ...map.max_ns.map(us)]);
    const chart = card(`Latencies over time, ${run.name}`, "Decisions by the wall time of the run and by how long they took; each row reaches to the next power of two. Dark is a larger part of the decisions of its span; a span without a column has none. A single dark row is steady; a column that reaches up is a stall.", head, rows);
    const sums = map.at_ms.map((at, j) => map.counts.reduce((sum, row) => sum + row[j], 0));
    const draw = () => {
      chart.textContent = "";
      const width = Math.max(280, chart.clientWidth), left = 62, bottom = 22, cellH = 16, last = map.at_ms.length - 1, count = map.counts.length;
      const height = count * cellH + bottom, end = Math.max(1, map.at_ms[last] + map.length_ms[last]);
      const x = (at) => left + (at / end) * (width - left);
      const svg = svgEl("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, chart);
      map.counts.forEach((row, i) => {
        const y = (count - 1 - i) * cellH;
        if (i % 2 === 0) svgEl("text", { x: left - 6, y: y + cellH, "text-anchor": "end" }, svg, long(map.from_ns[i]));
        row.forEach((cell, j) => {
          if (!cell) return;
          // The fourth root, so that one decision of thousands is seen.
          const share = Math.sqrt(Math.sqrt(cell / sums[j]));
          const mix = (a, b) => Math.round(a + (b - a) * share);
          const rect = svgEl("rect", { x: x(map.at_ms[j]), y: y, width: Math.max(0.5, x(map.length_ms[j]) - left - 0.5), height: cellH - 0.5, fill: `rgb(${mix(255, 8)},${mix(250, 48)},${mix(214, 107)})` }, svg);
          svgEl("title", {}, rect, `${map.at_ms[j] / 1000} s: ${cell} from ${us(map.from_ns[i])} us`);
        });
      });
      svgEl("path", { d: `M${left},0V${count * cellH}H${width}`, stroke: css("--line"), fill: "none" }, svg);
      const times = marks(end / 1000, width < 500 ? 4 : 7), names = axisTimes(times);
      times.forEach((at, i) => {
        const anchor = x(at * 1000) < left + 20 ? "start" : x(at * 1000) > width - 20 ? "end" : "middle";
        svgEl("path", { d: `M${x(at * 1000)},${count * cellH}v4`, stroke: css("--ink") }, svg);
        svgEl("text", { x: x(at * 1000), y: height - 6, "text-anchor": anchor }, svg, names[i]);
      });
    };
    redraws.push(draw);
    draw();
  });
}

function phases(data) {
  const runs = data.runs.filter((run) => run.phases.length);
  if (!runs.length) return;
  const names = inOrder([...new Set(runs.flatMap((run) => run.phases.map((phase) => phase.phase)))], PHASES);
  const find = (run, name) => run.phases.find((phase) => phase.phase === name);
  const head = ["phase", ...runs.flatMap((run) => [run.name + " n", run.name + " total us", run.name + " p99 us"])];
  const rows = names.map((name) => [name, ...runs.flatMap((run) => { const phase = find(run, name); return phase ? [phase.n, phase.total_us, us(phase.p99_ns)] : ["", "", ""]; })]);
  const chart = card("Time by phase", "The time of all decisions by phase. `propose` is a whole pass and holds the phases of the order and of the search.", head, rows);
  const inner = el("div", null, chart);
  legend(chart, runs.map((run) => run.name));
  bars(inner, names.map((name) => ({ label: name, bars: runs.map((run, colour) => ({ phase: find(run, name), colour })).filter((bar) => bar.phase).map((bar) => ({ value: bar.phase.total_us, text: bar.phase.total_us < 1000 ? bar.phase.total_us + " us" : (bar.phase.total_us / 1000).toFixed(1) + " ms", colour: bar.colour })) })), "time in all");
}

// The longest latencies of each phase.
function stalls(data) {
  data.runs.forEach((run) => {
    const times = [...new Set(run.over_time.map((one) => one.at_ms))];
    if (times.length < 2) return;
    const names = inOrder([...new Set(run.over_time.map((one) => one.phase))], PHASES);
    const at = (name) => times.map((time) => { const one = run.over_time.find((one) => one.phase === name && one.at_ms === time); return one && one.max_ns ? one.max_ns / 1000 : null; });
    const series = names.map((name) => ({ name: name, colour: placeOf(name, PHASES), ys: at(name) }));
    const head = ["at ms", ...names.map((name) => name + " max us")];
    const rows = times.map((time, i) => [time, ...series.map((one) => one.ys[i])]);
    const chart = card(`Longest latencies over time, ${run.name}`, "The longest latency of each phase in each interval of the log: a stall shows in the phases that caused it.", head, rows);
    lines(chart, times.map((time) => time / 1000), series, { x: "seconds of the run", y: "microseconds", logY: true });
  });
}

function scaling(data, title, says, axis, of) {
  const points = data.runs.map((run) => ({ run, x: of(run), y: run.figures.allocations_per_second })).filter((point) => point.x && point.y);
  if (new Set(points.map((point) => point.x)).size < 2) return;
  const xs = [...new Set(points.map((point) => point.x))].sort((a, b) => a - b);
  const modes = [...new Set(points.map((point) => point.run.figures.mode))];
  const refused = (run) => Object.values(run.figures.conflicts || {}).reduce((sum, n) => sum + n, 0);
  const at = (mode, pick) => xs.map((x) => { const point = points.find((point) => point.x === x && point.run.figures.mode === mode); return point ? pick(point) : null; });
  const series = modes.map((mode) => ({ name: mode, ys: at(mode, (point) => Math.round(point.y)) }));
  if (axis === "threads") modes.forEach((mode) => { const first = at(mode, (point) => point.y)[0]; if (first) series.push({ name: mode + ", ideal", ys: xs.map((x) => Math.round((first * x) / xs[0])) }); });
  const head = [axis, ...series.map((one) => one.name + " containers/s"), ...modes.map((mode) => mode + " refused per 1000")];
  const rows = xs.map((x, i) => [x, ...series.map((one) => one.ys[i]), ...modes.map((mode) => at(mode, (point) => ((1000 * refused(point.run)) / Math.max(1, point.run.figures.allocations)).toFixed(1))[i])]);
  const chart = card(title, says, head, rows);
  lines(chart, xs, series, { x: axis, y: "containers/s", logX: axis === "nodes", logY: axis === "nodes" });
}

function icicle(data) {
  const run = data.runs[0];
  const queues = Object.keys(run.usage.queues);
  if (!queues.length) return;
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / Math.max(1, list.length);
  const total = {};
  queues.forEach((queue) => {
    const parts = queue.split(".");
    parts.forEach((_, i) => { const path = parts.slice(0, i + 1).join("."); total[path] = (total[path] || 0) + mean(run.usage.queues[queue]); });
  });
  const paths = Object.keys(total).sort();
  const depth = Math.max(...paths.map((path) => path.split(".").length));
  const [of, scaled] = amounts(run.usage);
  const rows = paths.map((path) => [path, scaled(total[path]), ((100 * total[path]) / Math.max(1e-9, total.root)).toFixed(1)]);
  const chart = card(`Tree of queues, ${run.name}`, `The mean use of ${of} of each queue, inside its parent.`, ["queue", "mean " + of, "% of all"], rows, true);
  const draw = () => {
    chart.textContent = "";
    const width = Math.max(280, chart.clientWidth), level = 34;
    const svg = svgEl("svg", { viewBox: `0 0 ${width} ${depth * level}`, role: "img" }, chart);
    const place = (path, x, room) => {
      const d = path.split(".").length - 1;
      svgEl("rect", { x: x, y: d * level, width: Math.max(0.5, room - 1), height: level - 2, fill: COLOURS[(paths.indexOf(path)) % COLOURS.length], "fill-opacity": 0.35, stroke: css("--line") }, svg);
      const name = path.split(".").pop();
      if (room > name.length * 7 + 8) svgEl("text", { x: x + 5, y: d * level + 20 }, svg, name + (room > name.length * 7 + 60 ? ` ${((100 * total[path]) / Math.max(1e-9, total.root)).toFixed(1)} %` : ""));
      let at = x;
      paths.filter((other) => other.startsWith(path + ".") && other.split(".").length === d + 2).forEach((child) => {
        const own = (room * total[child]) / Math.max(1e-9, total[path]);
        place(child, at, own);
        at += own;
      });
    };
    place("root", 0, width);
  };
  redraws.push(draw);
  draw();
}

const gib = (value) => Math.round(value / 1024);
const partitionName = (name) => (name === "" ? "the default partition" : "partition " + name);

// One small panel a leaf: what it uses, its guarantee and its maximum.
function limits(data) {
  const panels = (queues) => queues.filter((queue) => queue.leaf && (Math.max(...queue.used_mib) > 0 || Math.max(...queue.guaranteed_mib) > 0));
  const runs = data.runs.filter((run) => run.repeated);
  runs.forEach((run) => {
    Object.entries(run.repeated.partitions).forEach(([partition, queues]) => {
      const leaves = panels(queues);
      if (!leaves.length) return;
      const xs = run.repeated.at_s, shown = leaves.slice(0, 24);
      // All runs have one scale, so that they can be compared.
      const all = runs.flatMap((one) => panels(one.repeated.partitions[partition] || []).slice(0, 24));
      const head = ["at s", ...leaves.flatMap((queue) => [queue.path + " used GiB", queue.path + " guaranteed GiB", queue.path + " maximum GiB"])];
      const rows = xs.map((x, i) => [x, ...leaves.flatMap((queue) => [gib(queue.used_mib[i]), gib(queue.guaranteed_mib[i]), gib(queue.maximum_mib[i])])]);
      const more = leaves.length > shown.length ? ` The table has ${leaves.length - shown.length} leaves more.` : "";
      const above = Math.max(1, ...all.flatMap((queue) => queue.used_mib.concat(queue.guaranteed_mib)));
      // Maxima that are little higher are shown, others would make the rest small.
      const near = all.flatMap((queue) => queue.maximum_mib).filter((value) => value <= above * 1.25);
      const most = Math.max(above, ...near);
      const peak = (list) => gib(Math.max(...list));
      const says = (queue) => `used ${peak(queue.used_mib)}, guarantee ${peak(queue.guaranteed_mib)}, max ${peak(queue.maximum_mib)} GiB`;
      const longest = Math.max(...shown.map((queue) => says(queue).length)) * 7.2 + 16;
      const chart = card(`Guarantees and maxima, ${run.name}`, `Memory on ${partitionName(partition)}, a panel for each leaf. Filled: what the leaf uses. Dashed: its guarantee. Solid: its maximum. Each panel ends at ${seconds(xs[xs.length - 1])} and at ${gib(most)} GiB; a higher maximum is drawn at the upper edge. The numbers are the highest of the moments that are shown.${more}`, head, rows, true);
      const draw = () => {
        chart.textContent = "";
        const width = Math.max(280, chart.clientWidth), across = Math.max(1, Math.min(4, Math.floor(width / longest)));
        const own = width / across, tall = 134, plot = 78, top = 38;
        const svg = svgEl("svg", { viewBox: `0 0 ${width} ${Math.ceil(shown.length / across) * tall}`, role: "img" }, chart);
        const last = Math.max(1, xs[xs.length - 1]);
        shown.forEach((queue, at) => {
          const left = (at % across) * own + 4, base = Math.floor(at / across) * tall + top + plot;
          const x = (s) => left + (s / last) * (own - 16), y = (value) => base - Math.min(1, value / most) * plot;
          const path = (list) => { let text = ""; list.forEach((value, i) => { text += i ? `H${x(xs[i]).toFixed(1)}V${y(value).toFixed(1)}` : `M${x(xs[0]).toFixed(1)},${y(value).toFixed(1)}`; }); return text + `H${x(last).toFixed(1)}`; };
          svgEl("text", { x: left, y: base - plot - 22 }, svg, clipped(queue.path, own - 10));
          svgEl("text", { x: left, y: base - plot - 7 }, svg, says(queue));
          svgEl("path", { d: path(queue.used_mib) + `V${base}H${x(xs[0])}Z`, fill: COLOURS[0], "fill-opacity": css("--fill") }, svg);
          svgEl("path", { d: path(queue.guaranteed_mib), fill: "none", stroke: css("--ink"), "stroke-dasharray": "5 4" }, svg);
          svgEl("path", { d: path(queue.maximum_mib), fill: "none", stroke: COLOURS[1] }, svg);
          svgEl("path", { d: `M${left},${base}H${left + own - 16}`, stroke: css("--line"), fill: "none" }, svg);
        });
      };
      redraws.push(draw);
      draw();
    });
  });
}

function tiers(data) {
  const most = highest(data.runs.filter((run) => run.repeated).map((run) => run.repeated.waiting_by_tier.map((one) => one.applications)));
  data.runs.forEach((run) => {
    if (!run.repeated || !run.repeated.waiting_by_tier.length) return;
    const xs = run.repeated.at_s, all = run.repeated.waiting_by_tier;
    const head = ["at s", ...all.map((one) => one.tier)];
    const rows = xs.map((x, i) => [x, ...all.map((one) => one.applications[i])]);
    const chart = card(`Applications that wait, by tier, ${run.name}`, "By the tier of the dominant reason, as `capsched why` groups it: never as things are configured, admission to the queue, quota (limits of queues and users), order (others are first), placement (no node has room), or progressing.", head, rows);
    lines(chart, xs, all.map((one) => ({ name: one.tier, colour: placeOf(one.tier, TIERS), ys: one.applications })), Object.assign(timed("applications"), { stacked: true, stepped: true, most }));
  });
}

function unusable(data) {
  const runs = data.runs.filter((run) => run.repeated && run.repeated.unusable_permille.some((value) => value !== null));
  if (!runs.length) return;
  const xs = [...new Set(runs.flatMap((run) => run.repeated.at_s))].sort((a, b) => a - b);
  // A run that has no moment at this time has `undefined`, which is no gap.
  const series = runs.map((run) => { const at = new Map(run.repeated.at_s.map((s, i) => [s, run.repeated.unusable_permille[i]])); return { name: run.name, ys: xs.map((x) => { const value = at.get(x); return typeof value === "number" ? value / 10 : value; }) }; });
  const head = ["at s", ...runs.map((run) => run.name + " %")];
  const rows = xs.map((x, i) => [x, ...series.map((one) => one.ys[i])]);
  const chart = card("Free and unusable", "Of the memory that is free, the part on nodes where no container that waits fits. A gap: nothing waits.", head, rows);
  lines(chart, xs, series, Object.assign(timed("percent"), { stepped: true }));
}

// Phases are measured in samples of their own, so each is shown by its own mean.
function breakdown(data) {
  // `propose` holds the phases of the pass.
  const order = PHASES.slice(1);
  const measured = (run, name) => run.phases.find((phase) => phase.phase === name && phase.n);
  const names = order.filter((name) => data.runs.some((run) => measured(run, name)));
  const runs = data.runs.filter((run) => names.some((name) => measured(run, name)));
  if (!runs.length) return;
  const of = (run, name) => { const phase = measured(run, name); return phase ? phase.total_us / phase.n : 0; };
  const rows = runs.map((run) => [run.name, ...names.flatMap((name) => [of(run, name).toFixed(3), (measured(run, name) || { n: 0 }).n])]);
  const chart = card("One decision by phase", "The mean time of each phase, one after the other: of the pass, then of the commit. Phases are measured in samples; the table has how often each was.", ["run", ...names.flatMap((name) => [name + " us", name + " n"])], rows, true);
  const inner = el("div", null, chart);
  legend(chart, names);
  const draw = () => {
    inner.textContent = "";
    const width = Math.max(280, inner.clientWidth), left = Math.min(140, width * 0.3), right = 76;
    const most = Math.max(1e-9, ...runs.map((run) => names.reduce((sum, name) => sum + of(run, name), 0)));
    const svg = svgEl("svg", { viewBox: `0 0 ${width} ${runs.length * 34 + 6}`, role: "img" }, inner);
    runs.forEach((run, row) => {
      let x = left, sum = 0;
      svgEl("text", { x: left - 8, y: row * 34 + 21, "text-anchor": "end" }, svg, clipped(run.name, left));
      names.forEach((name, i) => {
        const value = of(run, name), long = (value / most) * (width - left - right);
        const rect = svgEl("rect", { x: x, y: row * 34 + 6, width: Math.max(0, long), height: 22, fill: COLOURS[i % COLOURS.length], stroke: css("--card") }, svg);
        svgEl("title", {}, rect, `${name} ${value.toFixed(2)} us`);
        x += long; sum += value;
      });
      svgEl("text", { x: x + 6, y: row * 34 + 21 }, svg, sum.toFixed(2) + " us");
    });
  };
  redraws.push(draw);
  draw();
}

function conflicts(data) {
  const runs = data.runs.filter((run) => run.figures.allocations);
  const xs = [...new Set(runs.map((run) => run.threads))].sort((a, b) => a - b);
  if (xs.length < 2) return;
  const refused = (run) => Object.values(run.figures.conflicts || {}).reduce((sum, n) => sum + n, 0);
  const modes = [...new Set(runs.map((run) => run.figures.mode))];
  const series = modes.map((mode) => ({ name: mode, ys: xs.map((x) => { const run = runs.find((one) => one.threads === x && one.figures.mode === mode); return run ? +((100 * refused(run)) / (refused(run) + run.figures.allocations)).toFixed(2) : null; }) }));
  const chart = card("Refused proposals against threads", "Proposals that the commit refuses, in percent of all: what more threads cost.", ["threads", ...modes.map((mode) => mode + " %")], xs.map((x, i) => [x, ...series.map((one) => one.ys[i])]));
  lines(chart, xs, series, { x: "threads", y: "percent" });
}

// Each queue as wide as its guarantee, inside its parent, filled by what it uses of it.
function tree(data) {
  data.runs.slice(0, 1).forEach((run) => {
    if (!run.repeated) return icicle(data);
    Object.entries(run.repeated.partitions).forEach(([partition, queues]) => {
      // Each moment counts for the time to the next one.
      const xs = run.repeated.at_s, long = xs.map((s, i) => (i + 1 < xs.length ? xs[i + 1] - s : xs.length === 1 ? 1 : 0));
      const time = Math.max(1, long.reduce((sum, value) => sum + value, 0));
      const mean = (list) => list.reduce((sum, value, i) => sum + value * long[i], 0) / time;
      const all = queues.map((queue) => ({ path: queue.path, used: mean(queue.used_mib), least: mean(queue.guaranteed_mib), most: mean(queue.maximum_mib) }));
      const root = all.find((queue) => queue.path === "root");
      if (!root || !root.least) return;
      const percent = (value) => ((100 * value) / root.least).toFixed(0);
      const depth = Math.max(...all.map((queue) => queue.path.split(".").length));
      const rows = all.map((queue) => [queue.path, gib(queue.used), gib(queue.least), gib(queue.most), percent(queue.used)]);
      const chart = card(`Tree of queues, ${run.name}`, `Memory on ${partitionName(partition)}, mean over the run. Each queue is as wide as its guarantee, and filled by what it uses of it: blue, or orange when that is more than all. The numbers are percent of the partition: used, of the guarantee, at most the maximum.`, ["queue", "used GiB", "guaranteed GiB", "maximum GiB", "used %"], rows, true);
      const draw = () => {
        chart.textContent = "";
        const width = Math.max(280, chart.clientWidth), level = 38;
        const svg = svgEl("svg", { viewBox: `0 0 ${width} ${depth * level}`, role: "img" }, chart);
        const place = (queue, x, room) => {
          const d = queue.path.split(".").length - 1, y = d * level, name = queue.path.split(".").pop();
          const full = Math.min(1, queue.used / Math.max(1e-9, queue.least)), above = queue.used > queue.least * 1.005;
          svgEl("rect", { x: x, y: y, width: Math.max(0.5, room - 1), height: level - 3, fill: "none", stroke: css("--soft") }, svg);
          svgEl("rect", { x: x, y: y, width: Math.max(0, (room - 1) * full), height: level - 3, fill: above ? COLOURS[1] : COLOURS[0], "fill-opacity": 0.35 }, svg);
          const numbers = `${percent(queue.used)} of ${percent(queue.least)}, at most ${percent(queue.most)}`, few = `${percent(queue.used)} of ${percent(queue.least)}`;
          if (room > name.length * 7 + 10) svgEl("text", { x: x + 5, y: y + 15 }, svg, name);
          const fits = [numbers, few].find((text) => room > text.length * 7 + 10);
          if (fits) svgEl("text", { x: x + 5, y: y + 30 }, svg, fits);
          const below = all.filter((other) => other.path.startsWith(queue.path + ".") && other.path.split(".").length === d + 2);
          const sum = Math.max(queue.least, below.reduce((total, child) => total + child.least, 0), 1e-9);
          let at = x;
          below.forEach((child) => { const own = (room * child.least) / sum; place(child, at, own); at += own; });
        };
        place(root, 0, width);
      };
      redraws.push(draw);
      draw();
    });
  });
}

function missing(data) {
  const runs = data.runs.filter((run) => run.not_repeated);
  if (!runs.length) return;
  const rows = runs.map((run) => [run.name, run.not_repeated]);
  const chart = card("What is not shown", "Limits of queues, reasons of waits and unusable room are seen by playing a run once more. These runs cannot be played again.", ["run", "why"], rows, true);
  rows.forEach((row) => el("p", row.join(": "), chart));
}

// A whole number with a mark at each thousand.
const counted = (cell) => (/^[0-9]{4,}$/.test(cell) ? Number(cell).toLocaleString("en") : cell);

function summary(data) {
  const n = (value, digits) => (typeof value === "number" ? value.toFixed(digits || 0) : "");
  const head = ["run", "threads", "asked", "placed", "waiting", "refused", "containers/s", "p50 us", "p99 us", "first container p95 ms", "fairness gap max %"];
  const rows = data.runs.map((run) => {
    const f = run.figures, l = f.latency_ns || {};
    return [run.name, run.threads, f.offered, f.placed, f.waiting, f.refused, n(f.allocations_per_second), us(l.p50 || 0), us(l.p99 || 0), (f.first_container_ms || {}).p95, n(((f.fairness_gap || {}).max || 0) * 100, 1)];
  });
  const chart = card("Runs", "Containers/s and latencies are wall time on the machine named above; waits are virtual time.", head, rows, true);
  const scroll = el("div", null, chart);
  scroll.className = "scroll";
  fill(scroll, head.map((name) => name.replace("p95 ms", "p95")), rows.map((row) => row.map((cell, i) => (head[i].endsWith("p95 ms") && cell !== undefined ? ms(cell) : counted(cell)))));
}

function begin(data) {
  const made = data.made_with || {}, machine = made.machine || {};
  document.getElementById("about").textContent = `${data.folder} · capsched ${made.capsched || "?"} at ${made.commit || "?"} · ${machine.processor || "?"}, ${machine.cores || "?"} cores` + (made.seed == null ? "" : ` · seed ${made.seed}`) + (machine.optimised === false ? " · not optimised: no figure counts" : "");
  summary(data);
  left(data);
  latency(data);
  rates(data);
  waits(data);
  shares(data);
  limits(data);
  waiting(data);
  tiers(data);
  gaps(data);
  breakdown(data);
  phases(data);
  heat(data);
  unusable(data);
  latencyMap(data);
  stalls(data);
  scaling(data, "Containers/s against threads", "What more threads bring, with the ideal line. Runs with more threads than cores measure the system.", "threads", (run) => run.threads);
  scaling(data, "Containers/s against nodes", "How the rate changes with the size of the cluster, both axes logarithmic.", "nodes", (run) => run.node_count);
  conflicts(data);
  tree(data);
  missing(data);
  let timer = 0;
  const again = () => { clearTimeout(timer); timer = setTimeout(() => redraws.forEach((draw) => draw()), 120); };
  // The width of the cards, which a window, a zoom and a scroll bar change. Heights follow from what is drawn.
  const main = document.getElementById("main");
  let width = main.clientWidth;
  new ResizeObserver(() => { if (main.clientWidth !== width) { width = main.clientWidth; again(); } }).observe(main);
  const printing = (on) => () => { document.documentElement.classList.toggle("printing", on); redraws.forEach((draw) => draw()); };
  window.addEventListener("beforeprint", printing(true));
  window.addEventListener("afterprint", printing(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}
