// All nodes as a map of cells on a canvas, and as a table by pages.

import { get } from "./api.js";
import { amount, count, h, keyed, saveCsv, setText, share } from "./dom.js";

// Cividis at nine places: rises evenly in brightness, for any colour vision.
const SCALE = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [166, 157, 117], [196, 181, 108], [254, 232, 56]];
const PAGE = 50;

export function open(main, place, signal) {
  const view = { data: null, by: 0, order: "name", cells: [], columns: 1, size: 8, at: -1 };
  const by = h("select");
  const order = h("select", {}, [["name", "name"], ["partition", "partition"], ["share", "used share"]].map(([value, text]) => h("option", { value }, text)));
  const find = h("input", { type: "search", placeholder: "part of a name" });
  const canvas = h("canvas", { class: "map", tabindex: 0, role: "img", "aria-describedby": "node-said" });
  const said = h("p", { id: "node-said", "aria-live": "polite" }, "Point at a cell, or move with the arrow keys.");
  const scale = h("canvas", { width: 160, height: 1, "aria-hidden": "true" });
  const body = h("tbody");
  const pages = h("div", { class: "bar-of-tools" });
  const listed = h("div", { hidden: true });
  const show = h("button", { type: "button", "aria-expanded": "false", onclick: () => {
    listed.hidden = !listed.hidden;
    setText(show, listed.hidden ? "Show as table" : "Hide the table");
    show.setAttribute("aria-expanded", String(!listed.hidden));
    rows(view, body, pages);
  } }, "Show as table");
  const save = h("button", { type: "button", onclick: () => csv(view) }, "Download CSV");
  main.append(
    h("h2", {}, "Nodes"),
    h("div", { class: "bar-of-tools" }, h("label", {}, "Colour by used", by), h("label", {}, "Order", order), h("label", {}, "Filter", find), show, save),
    h("div", { class: "scale" }, "0 %", scale, "100 % used", h("span", {}, "\u2003\u00d7 takes no containers")),
    said, canvas, listed);
  listed.append(h("div", { class: "scroll" }, h("table", {}, h("caption", {}, "Nodes"), h("thead", {}, h("tr", {})), body)), pages);
  paintScale(scale);

  const redraw = () => { arrange(view, find.value); draw(view, canvas); rows(view, body, pages); };
  by.addEventListener("change", () => { view.by = Number(by.value); redraw(); });
  order.addEventListener("change", () => { view.order = order.value; redraw(); });
  find.addEventListener("input", () => { view.page = 0; redraw(); });
  // In a frame of its own: a drawing may change the size that is observed.
  const fit = () => { if (!signal.aborted) draw(view, canvas); };
  const resize = new ResizeObserver(() => requestAnimationFrame(fit));
  resize.observe(canvas.parentElement);
  document.addEventListener("theme", () => draw(view, canvas), { signal });
  signal.addEventListener("abort", () => resize.disconnect());
  canvas.addEventListener("mousemove", (event) => point(view, at(view, event), said, canvas));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -view.columns, ArrowDown: view.columns }[event.key];
    if (!step) return;
    point(view, Math.max(0, Math.min(view.cells.length - 1, view.at + step)), said, canvas);
    event.preventDefault();
  });
  return async () => {
    view.data = await get("v1/nodes", null, signal);
    keyed(by, view.data.types.map((name, index) => ({ name, index })), (one) => one.name, (one) => h("option", { value: one.index }, one.name));
    by.value = String(view.by);
    const head = listed.querySelector("thead tr");
    if (!head.children.length) {
      head.append(...["Node", "Partition", "State", "Containers", ...view.data.types.map((name) => `Used ${name}`)].map((text, index) => h("th", { scope: "col", class: index > 2 ? "n" : null }, text)));
    }
    redraw();
  };
}

const used = (view, node) => {
  const total = view.data.total[node][view.by];
  return total > 0 ? view.data.allocated[node][view.by] / total : 0;
};

function arrange(view, filter) {
  const data = view.data;
  const wanted = filter.toLowerCase();
  const cells = data.id.map((_, index) => index).filter((index) => !wanted || data.id[index].toLowerCase().includes(wanted));
  const name = (one, other) => (data.id[one] < data.id[other] ? -1 : data.id[one] > data.id[other] ? 1 : 0);
  const partition = (one, other) => (data.partition[one] < data.partition[other] ? -1 : data.partition[one] > data.partition[other] ? 1 : name(one, other));
  if (view.order === "partition") cells.sort(partition);
  else if (view.order === "share") cells.sort((one, other) => used(view, other) - used(view, one) || name(one, other));
  view.cells = cells;
}

function colour(value) {
  const scaled = Math.max(0, Math.min(1, value)) * (SCALE.length - 1);
  const low = Math.min(SCALE.length - 2, Math.floor(scaled));
  const mix = SCALE[low].map((part, index) => Math.round(part + (SCALE[low + 1][index] - part) * (scaled - low)));
  return `rgb(${mix.join(",")})`;
}

const STEPS = Array.from({ length: 101 }, (_, index) => colour(index / 100));

function paintScale(canvas) {
  const pen = canvas.getContext("2d");
  for (let x = 0; x < 160; x += 1) {
    pen.fillStyle = STEPS[Math.round((100 * x) / 159)];
    pen.fillRect(x, 0, 1, 1);
  }
}

function draw(view, canvas) {
  if (!view.data) return;
  const begun = performance.now();
  const width = Math.max(200, canvas.parentElement.clientWidth - 34);
  const n = Math.max(1, view.cells.length);
  const size = Math.max(6, Math.min(22, Math.floor(Math.sqrt((width * 420) / n))));
  const columns = Math.max(1, Math.floor(width / size));
  const height = Math.ceil(n / columns) * size + 2;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    canvas.style.width = `${width}px`;
  }
  Object.assign(view, { columns, size });
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const gap = size > 8 ? 2 : 1;
  const off = style.getPropertyValue("--bad");
  view.cells.forEach((node, index) => {
    const x = (index % columns) * size, y = Math.floor(index / columns) * size;
    if (view.data.state[node] === "RUNNING") {
      pen.fillStyle = STEPS[Math.round(100 * Math.max(0, Math.min(1, used(view, node))))];
      pen.fillRect(x, y, size - gap, size - gap);
    } else {
      pen.strokeStyle = off;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(x + size - gap, y + size - gap);
      pen.moveTo(x + size - gap, y);
      pen.lineTo(x, y + size - gap);
      pen.stroke();
    }
  });
  if (view.at >= 0 && view.at < view.cells.length) {
    pen.strokeStyle = style.getPropertyValue("--focus");
    pen.lineWidth = 2;
    pen.strokeRect((view.at % columns) * size - 1, Math.floor(view.at / columns) * size - 1, size + 1, size + 1);
    pen.lineWidth = 1;
  }
  const mean = view.cells.reduce((sum, node) => sum + used(view, node), 0) / n;
  canvas.setAttribute("aria-label", `${count(view.cells.length)} nodes, ${Math.round(100 * mean)} % of ${view.data.types[view.by]} used on average`);
  canvas.dataset.frameMs = (performance.now() - begun).toFixed(2);
}

function at(view, event) {
  const box = event.currentTarget.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / view.size);
  const index = Math.floor((event.clientY - box.top) / view.size) * view.columns + column;
  return column < view.columns && index < view.cells.length ? index : -1;
}

function point(view, index, said, canvas) {
  if (index < 0 || index === view.at || !view.data) return;
  view.at = index;
  const node = view.cells[index];
  const data = view.data;
  const parts = data.types.map((name, type) => `${amount(name, data.allocated[node][type])} of ${amount(name, data.total[node][type])}`);
  setText(said, `${data.id[node]}, partition ${data.partition[node] || "<DEFAULT_PARTITION>"}, ${data.state[node]}: ${parts.join(", ")}; ${count(data.containers[node])} containers`);
  requestAnimationFrame(() => draw(view, canvas));
}

function rows(view, body, pages) {
  if (body.closest("[hidden]") || !view.data) return;
  const data = view.data;
  view.page = Math.min(view.page || 0, Math.max(0, Math.ceil(view.cells.length / PAGE) - 1));
  const shown = view.cells.slice(view.page * PAGE, (view.page + 1) * PAGE);
  keyed(body, shown, (node) => data.id[node],
    () => h("tr", {}, ["", "", "", ...data.types, ""].map((_, index) => h("td", { class: index > 2 ? "n" : null }))),
    (line, node) => {
      const texts = [data.id[node], data.partition[node] || "<DEFAULT_PARTITION>", data.state[node], count(data.containers[node]),
        ...data.types.map((name, type) => `${amount(name, data.allocated[node][type])} (${share(data.allocated[node][type], data.total[node][type]) || "0 %"})`)];
      texts.forEach((text, index) => setText(line.children[index], text));
    });
  if (!pages.children.length) {
    const turn = (by) => () => { view.page = Math.max(0, view.page + by); rows(view, body, pages); };
    pages.append(h("button", { type: "button", onclick: turn(-1) }, "Previous page"), h("button", { type: "button", onclick: turn(1) }, "Next page"), h("span", {}));
  }
  setText(pages.lastChild, `${shown.length} of ${count(view.cells.length)} nodes, page ${view.page + 1}`);
}

function csv(view) {
  const data = view.data;
  const heads = ["node", "partition", "state", "containers", ...data.types.flatMap((name) => [`allocated ${name}`, `total ${name}`])];
  saveCsv("nodes", heads, view.cells.map((node) => [data.id[node], data.partition[node], data.state[node], data.containers[node],
    ...data.types.flatMap((_, type) => [data.allocated[node][type], data.total[node][type]])]));
}
