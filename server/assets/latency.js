// How long decisions take: by phase, by percentile, over the last minutes; and what the commit refused.

import { get } from "./api.js";
import { count, duration, h, keyed, nanoseconds, percent, replace, saveCsv, setText, table } from "./dom.js";

const COLOURS = ["#1f77b4", "#d95f02", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a00", "#777777", "#a4262c", "#6a51a3", "#5c5c5c"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [1, 2], [12, 4], [6, 2], [3, 6], [9, 2], [1, 4]];
const WINDOW = 300;
const past = [];

export function open(main, place, signal) {
  const phases = h("div");
  const over = h("div");
  const curve = h("div");
  const outcomes = h("div");
  const pending = h("div");
  const view = { data: null };
  main.append(
    h("h2", {}, "Latency and phases"),
    h("p", { class: "note" }, "Measured since the scheduler began. A phase that a mode does not have, or that is not measured, is left out."),
    h("div", { class: "charts" },
      card("Phases", phases, () => view.data && csv(view.data)),
      card("Latency by percentile", curve),
      card("Allocations and refused proposals a second, this page's last minutes", over),
      card("Pending containers by reason", pending),
      card("Proposals by outcome", outcomes)));
  const redraw = () => view.data && draw();
  document.addEventListener("theme", redraw, { signal });
  function draw() {
    const data = view.data;
    replace(phases, phasesOf(data));
    if (data.phases.length) plotCurve(curve, data.phases);
    else replace(curve, h("p", { class: "note" }, "In heartbeat mode the calls of nodes decide; no phase is measured."));
    plotPast(over);
    replace(outcomes, outcomesOf(data));
    replace(pending, pendingOf(data));
  }
  return async () => {
    view.data = await get("v1/latency", null, signal);
    remember(view.data);
    if (!main.querySelector(".charts").contains(document.activeElement)) draw();
  };
}

function card(title, inside, save) {
  return h("section", { class: "card", "aria-label": title }, h("h3", {}, title), inside,
    save ? h("p", {}, h("button", { type: "button", onclick: save }, "Download CSV")) : null);
}

const POINTS = ["p50", "p90", "p99", "p99_9", "max"];

function phasesOf(data) {
  const heads = [{ text: "Phase" }, { text: "Samples", n: true }, ...["p50", "p90", "p99", "p99.9", "Largest"].map((text) => ({ text, n: true }))];
  return table("", heads, data.phases.map((phase) => [phase.phase, count(phase.samples), ...POINTS.map((point) => nanoseconds(phase[point]))]));
}

function csv(data) {
  saveCsv("phases", ["phase", "samples", ...POINTS.map((point) => `${point} ns`)], data.phases.map((phase) => [phase.phase, phase.samples, ...POINTS.map((point) => phase[point])]));
}

function remember(data) {
  const last = past.at(-1);
  const refused = data.outcomes.filter((one) => one.refused).reduce((sum, one) => sum + one.count, 0);
  const now = { at: data.time / 1000, allocated: data.allocated, refused };
  if (last && now.at <= last.at) return;
  past.push(now);
  if (past.length > WINDOW) past.shift();
}

function axes(label, more) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim(), grid = { stroke: style.getPropertyValue("--line").trim(), width: 1 };
  return { label, stroke: ink, grid, ticks: grid, ...more };
}

function plot(parent, data, options) {
  const width = Math.max(260, parent.clientWidth - 4);
  replace(parent);
  new uPlot({ width, height: 240, cursor: { drag: { x: false, y: false } }, ...options }, data, parent);
}

const clock = (seconds) => new Date(seconds * 1000).toTimeString().slice(0, 8);

function plotPast(parent) {
  const steps = past.slice(1).map((now, at) => {
    const before = past[at];
    const seconds = now.at - before.at;
    return [now.at, (now.allocated - before.allocated) / seconds, (now.refused - before.refused) / seconds];
  });
  if (steps.length < 2) return replace(parent, h("p", { class: "note" }, "The first figures come with the next reading."));
  const series = ["allocations", "refused"].map((label, at) => ({ label, stroke: COLOURS[at], dash: DASHES[at], width: 2, value: (_, v) => (v === null ? "" : v.toFixed(1)) }));
  return plot(parent, [0, 1, 2].map((column) => steps.map((step) => step[column])), { series: [{ label: "time", value: (_, v) => (v === null ? "" : clock(v)) }, ...series], axes: [axes(null, { space: 80, values: (_, ticks) => ticks.map(clock) }), axes("a second", {})], scales: { x: { range: (_, low, high) => [Math.min(low, high - 60), high] }, y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } } });
}

// The axis is 1/(1-q): each step of ten is one more nine.
function plotCurve(parent, phases) {
  const xs = phases[0].curve.map(([share]) => 1 / (1 - share));
  const series = phases.map((phase, at) => ({ label: phase.phase, stroke: COLOURS[at % COLOURS.length], dash: DASHES[at % DASHES.length], width: 2, value: (_, v) => nanoseconds(v) }));
  const share = (x) => `${Number((100 * (1 - 1 / x)).toFixed(4))}%`;
  plot(parent, [xs, ...phases.map((phase) => phase.curve.map(([, ns]) => Math.max(1, ns)))], {
    series: [{ label: "share", value: (_, v) => (v === null ? "" : share(v)) }, ...series],
    scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
    axes: [axes("of the samples are below", { values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : share(tick))), splits: () => [1, 2, 10, 100, 1000, 10000].filter((x) => x <= xs.at(-1)) }),
      axes(null, { size: 70, splits: (_, axis, low, high) => decades(low, high), values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : nanoseconds(tick))) })],
  });
}

// Powers of ten, so that a line stands at each label and nowhere else.
function decades(low, high) {
  const all = [];
  for (let at = Math.floor(Math.log10(low)); at <= Math.log10(high) + 1e-9; at += 1) all.push(10 ** at);
  return all;
}

function outcomesOf(data) {
  const all = data.outcomes.reduce((sum, one) => sum + one.count, 0);
  const heads = [{ text: "Outcome" }, { text: "Proposals", n: true }, { text: "Share", n: true }];
  const rows = data.outcomes.filter((one) => one.count > 0).map((one) => [one.outcome, count(one.count), percent((100 * one.count) / all)]);
  return rows.length ? table("", heads, rows) : h("p", { class: "note" }, "No proposal yet.");
}

function pendingOf(data) {
  const heads = [{ text: "Reason" }, { text: "Queue" }, { text: "Applications", n: true }, { text: "Containers", n: true }];
  const rows = [...data.pending].sort((one, other) => other.containers - one.containers).slice(0, 20)
    .map((one) => [one.reason, h("a", { href: `#/queues/${encodeURIComponent(one.queue)}` }, one.queue), count(one.applications), count(one.containers)]);
  const age = data.pending_age_ms < 3000 ? "" : `Seen ${duration(data.pending_age_ms)} ago`;
  return rows.length ? table(age, heads, rows) : h("p", { class: "fine" }, "Nothing waits.");
}
