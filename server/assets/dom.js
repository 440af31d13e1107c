// Elements, lists of rows that keep their places, and figures as text.

export function h(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "disabled" || key === "hidden") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

export function setText(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

// Makes the children of `parent` those of `items`, in their order. A child is kept as long as its key is there, so
// that focus, selection and scrolling stay.
export function keyed(parent, items, keyOf, create, update) {
  const known = parent.keyedChildren || (parent.keyedChildren = new Map());
  const wanted = new Set();
  let at = parent.firstChild;
  for (const item of items) {
    const key = keyOf(item);
    wanted.add(key);
    let node = known.get(key);
    if (!node) {
      node = create(item);
      known.set(key, node);
    }
    if (update) update(node, item);
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  for (const [key, node] of known) {
    if (!wanted.has(key)) {
      node.remove();
      known.delete(key);
    }
  }
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (n) => (n === null || n === undefined ? "" : n >= 2147483647 ? "unlimited" : whole.format(n));
export const percent = (n) => (Number.isFinite(Number(n)) ? `${Number(n).toFixed(1)}\u00a0%` : String(n));
export const share = (part, all) => (all > 0 ? percent((100 * part) / all) : "");

export function memory(mib) {
  const size = Math.abs(mib);
  if (size >= 1048576) return `${(mib / 1048576).toFixed(2)}\u00a0TiB`;
  if (size >= 10240) return `${(mib / 1024).toFixed(1)}\u00a0GiB`;
  return `${whole.format(mib)}\u00a0MiB`;
}

const MEMORY = "memory-mb";

export const amount = (name, value) => (name === MEMORY ? memory(value) : `${whole.format(value)} ${name}`);

// Amounts of one of YARN's resources, memory first.
export function resource(info) {
  if (!info) return "";
  const list = info.resourceInformations && info.resourceInformations.resourceInformation;
  const parts = list ? many(list).map((one) => amount(one.name, Number(one.value))) : [memory(info.memory), `${info.vCores} vcores`];
  return parts.filter((part, at) => at < 2 || !part.startsWith("0 ")).join(", ");
}

// YARN writes a list with one element as that element, and an empty one as nothing.
export function many(value) {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

export function nanoseconds(ns) {
  if (ns === null || ns === undefined) return "";
  if (ns < 1000) return `${whole.format(ns)}\u00a0ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(1)}\u00a0\u00b5s`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(1)}\u00a0ms`;
  return `${(ns / 1e9).toFixed(2)}\u00a0s`;
}

export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export const time = (ms) => (ms > 0 ? new Date(ms).toLocaleString() : "");

// The time of day, with the date where that is not today.
export const recent = (ms) => (new Date(ms).toDateString() === new Date().toDateString() ? new Date(ms).toLocaleTimeString() : time(ms));

export function table(caption, heads, rows) {
  const cell = (name, one) => {
    const head = heads[one.at];
    return h(name, { class: head.n ? "n" : head.w ? "w" : head.t ? "t" : null, scope: name === "th" ? "col" : null }, one.what);
  };
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption || heads.map((head) => head.text).join(", ") },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head, at) => cell("th", { at, what: head.text })))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((what, at) => cell("td", { at, what })))))));
}

export function saveCsv(name, heads, rows) {
  const quoted = (cell) => {
    let text = cell === null || cell === undefined ? "" : String(cell);
    // A spreadsheet would run such a cell as a formula.
    if (/^[=+@\t\r]/.test(text) || (/^-/.test(text) && Number.isNaN(Number(text)))) text = `'${text}`;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const text = [heads, ...rows].map((row) => row.map(quoted).join(",")).join("\n");
  const link = h("a", { href: URL.createObjectURL(new Blob([`${text}\n`], { type: "text/csv" })), download: `${name}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
