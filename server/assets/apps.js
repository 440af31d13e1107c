// The list of applications: filtered, ordered and cut into pages by the server.

import { get } from "./api.js";
import { count, duration, h, keyed, memory, setAttribute, setText } from "./dom.js";

const PAGE = 50;
const STATES = ["", "NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"];
const COLUMNS = [
  { name: "id", title: "Application", sort: true },
  { name: "user", title: "User" },
  { name: "name", title: "Name", wide: true },
  { name: "queue", title: "Queue" },
  { name: "state", title: "State" },
  { name: "priority", title: "Priority", n: true, wide: true },
  { name: "age", title: "Elapsed", n: true, sort: true, wide: true },
  { name: "memory", title: "Memory", n: true, wide: true },
  { name: "containers", title: "Containers", n: true, sort: true },
  { name: "pending", title: "Pending", n: true, sort: true },
  { name: "reason", title: "Waits for" },
];

export function open(main, place, signal) {
  const wish = { queue: "", user: "", state: "", q: "", sort: "id", descending: "true" };
  // The server refuses what it does not know.
  for (const name of Object.keys(wish)) wish[name] = place.query.get(name) ?? wish[name];
  const behind = [];
  let next = null;
  const body = h("tbody");
  const said = h("p", { class: "note", role: "status" });
  const field = (name, title, kind) => {
    const input = kind === "state" ? h("select", {}, STATES.map((one) => h("option", { value: one }, one || "any"))) : h("input", { type: kind || "text" });
    input.value = wish[name];
    let due;
    input.addEventListener("input", () => {
      clearTimeout(due);
      due = setTimeout(() => { wish[name] = input.value.trim(); again(); }, 200);
    });
    return h("label", {}, title, input);
  };
  const heads = COLUMNS.map((column) => h("th", { scope: "col", class: [column.n && "n", column.wide && "wide"].filter(Boolean).join(" ") || null },
    column.sort ? h("button", { type: "button", class: "plain", onclick: () => sort(column.name) }, column.title) : column.title));
  const earlier = h("button", { type: "button", onclick: () => { behind.pop(); read(); } }, "Previous page");
  const later = h("button", { type: "button", onclick: () => { behind.push(next); read(); } }, "Next page");
  main.append(
    h("h2", {}, "Applications"),
    h("div", { class: "bar-of-tools" },
      field("q", "Filter", "search"), field("queue", "Queue and those below"), field("user", "User"), field("state", "State", "state")),
    said,
    h("div", { class: "scroll" }, h("table", { class: "apps" }, h("caption", {}, "Applications"), h("thead", {}, h("tr", {}, heads)), body)),
    h("div", { class: "bar-of-tools" }, earlier, later));

  function sort(name) {
    wish.descending = String(wish.sort === name ? wish.descending !== "true" : name !== "id");
    wish.sort = name;
    again();
  }
  function again() {
    behind.length = 0;
    const query = new URLSearchParams(Object.entries(wish).filter(([, value]) => value !== ""));
    history.replaceState(null, "", `#/apps?${query}`);
    read();
  }
  async function read() {
    const page = await get("v1/apps", { ...wish, limit: PAGE, after: behind.at(-1) }, signal);
    next = page.next;
    earlier.disabled = behind.length === 0;
    later.disabled = !next;
    setText(said, `${count(page.matched)} of ${count(page.total)} applications match; ${page.apps.length} shown from ${count(behind.length * PAGE + (page.apps.length ? 1 : 0))}; ${reasonsAge(page.reasons_age_ms)}`);
    COLUMNS.forEach((column, at) => setAttribute(heads[at], "aria-sort", column.name !== wish.sort ? null : wish.descending === "true" ? "descending" : "ascending"));
    keyed(body, page.apps, (app) => app.id, blank, fill);
  }
  return read;
}

// Below three seconds the age would change with every answer and say nothing.
function reasonsAge(ms) {
  return ms < 3000 ? "what they wait for is seen each second" : `what they wait for was seen ${duration(ms)} ago`;
}

function blank(app) {
  const cells = COLUMNS.map((column) => h("td", { class: [column.n && "n", column.wide && "wide"].filter(Boolean).join(" ") || null }));
  cells[0].append(h("a", { href: `#/app/${app.id}` }, app.id));
  return h("tr", {}, cells);
}

function fill(node, app) {
  const cells = node.children;
  const elapsed = (app.finishedTime || Date.now()) - app.startedTime;
  [app.user, app.name, app.queue, app.state, app.priority, duration(elapsed), memory(app.allocatedMB), count(app.runningContainers),
    count(app.pendingContainers), app.reason || ""].forEach((text, at) => setText(cells[at + 1], text));
}
