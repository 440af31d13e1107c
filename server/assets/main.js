// The frame of the page: views by address, figures of the cluster, keys, theme and signing in.

import { state, cluster, get, signIn, signedIn } from "./api.js";
import { count, duration, h, keyed, memory, replace, setAttribute, setText, share } from "./dom.js";
import * as queues from "./queues.js";
import * as apps from "./apps.js";
import * as app from "./app.js";
import * as nodes from "./nodes.js";
import * as events from "./events.js";
import * as latency from "./latency.js";
import * as conf from "./conf.js";

const VIEWS = [
  { name: "queues", title: "Queues", view: queues },
  { name: "apps", title: "Applications", view: apps },
  { name: "nodes", title: "Nodes", view: nodes },
  { name: "events", title: "Events", view: events },
  { name: "latency", title: "Latency", view: latency },
  { name: "conf", title: "Configuration", view: conf },
];
const EVERY_MS = 2000;
const STALE_MS = 8000;
const main = document.getElementById("main");
let present = null;

function wanted() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  return { name: name || "queues", rest, query: new URLSearchParams(query || "") };
}

function show() {
  const place = wanted();
  const chosen = place.name === "app" ? { name: "apps", title: "Application", view: app } : VIEWS.find((one) => one.name === place.name);
  if (present) present.close.abort();
  const close = new AbortController();
  if (!chosen) {
    present = { close, refresh: async () => {} };
    replace(main, h("p", { class: "problem" }, `There is no view ${place.name}.`));
    return;
  }
  document.title = `${place.rest[0] || chosen.title} \u2013 capsched`;
  for (const link of document.querySelectorAll("#views a")) {
    setAttribute(link, "aria-current", link.dataset.view === chosen.name ? "page" : null);
  }
  replace(main);
  present = { close, refresh: chosen.view.open(main, place, close.signal), on: chosen.view.changes };
  refresh();
}

async function refresh() {
  const of = present;
  try {
    await of.refresh();
    const problem = main.querySelector(":scope > .problem.of-refresh");
    if (problem) problem.remove();
  } catch (error) {
    if (error.name === "AbortError" || of !== present) return;
    let problem = main.querySelector(":scope > .problem.of-refresh");
    if (!problem) {
      problem = h("p", { class: "problem of-refresh", role: "alert" });
      main.prepend(problem);
    }
    setText(problem, error.status === 401 ? "Sign in to see this." : error.message);
  }
}

async function figures() {
  const { clusterMetrics: m } = await cluster("/metrics");
  const shown = [
    ["memory", `of ${memory(m.totalMB)} memory`, share(m.allocatedMB, m.totalMB)],
    ["vcores", `of ${count(m.totalVirtualCores)} vcores`, share(m.allocatedVirtualCores, m.totalVirtualCores)],
    ["Containers running", count(m.containersAllocated)],
    ["Containers pending", count(m.containersPending)],
    ["Containers reserved", count(m.containersReserved)],
    ["Apps running", count(m.appsRunning)],
    ["Apps pending", count(m.appsPending)],
    ["Active nodes", count(m.activeNodes)],
    ["Lost or unhealthy", count(m.lostNodes + m.unhealthyNodes)],
  ];
  keyed(document.getElementById("figures"), shown, (one) => one[0],
    () => h("div", {}, h("b"), h("span")),
    (node, [name, value, of]) => {
      setText(node.firstChild, of || (/^of /.test(value) ? "\u2013" : value));
      setText(node.lastChild, of ? value : name);
    });
}

async function about() {
  const [{ clusterInfo: info }, who] = await Promise.all([cluster("/info"), get("v1/whoami")]);
  state.user = who;
  const badges = [
    { name: "state", text: `${info.haState || "ACTIVE"}, ${info.state}` },
    { name: "version", text: `version ${info.resourceManagerVersion}` },
    { name: "up", text: `up ${duration(Date.now() - info.startedOn)}` },
    { name: "user", text: who.user ? `${who.user}${who.admin ? ", administrator" : ""}` : "not signed in" },
  ];
  setText(document.getElementById("sign-in"), signedIn() ? "Sign out" : "Sign in");
  state.badges = badges;
}

function badges() {
  const stale = state.failed || Date.now() - state.last > STALE_MS;
  const all = [...(state.badges || [])];
  if (stale) all.unshift({ name: "stale", text: state.failed ? `stale: ${state.failed}` : "stale", bad: true });
  keyed(document.getElementById("badges"), all, (one) => one.name,
    () => h("span"),
    (node, one) => {
      setText(node, one.text);
      setAttribute(node, "class", one.bad ? "badge bad" : "badge");
    });
}

async function round() {
  if (!document.hidden) {
    await Promise.allSettled([figures(), about(), refresh()]);
    badges();
  }
  setTimeout(round, EVERY_MS);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  setText(document.getElementById("theme"), name === "dark" ? "Light" : "Dark");
  document.dispatchEvent(new Event("theme"));
}

function chooseTheme() {
  const asked = new URLSearchParams(location.search).get("theme");
  const kept = localStorage.getItem("capsched-theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = asked || kept || (dark.matches ? "dark" : "light");
  theme(chosen === "dark" ? "dark" : "light");
  document.getElementById("theme").addEventListener("click", () => {
    const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("capsched-theme", other);
    theme(other);
  });
}

function dialog() {
  if (signedIn()) {
    signIn(null);
    about().then(badges, badges);
    return;
  }
  const simple = state.user && state.user.authentication === "simple";
  const value = h("input", { type: simple ? "text" : "password", required: true, autocomplete: simple ? "username" : "off" });
  const box = h("dialog", { "aria-label": "Sign in" },
    h("form", { method: "dialog", onsubmit: () => signIn({ kind: simple ? "user" : "token", value: value.value.trim() }) },
      h("label", {}, simple ? "User name (nothing checks it: the server runs with --insecure-simple)" : "Token", value),
      h("div", { class: "row" },
        h("button", { type: "button", onclick: () => box.close() }, "Cancel"),
        h("button", { type: "submit" }, "Sign in"))));
  box.addEventListener("close", () => {
    box.remove();
    about().then(badges, badges);
    refresh();
  });
  document.body.append(box);
  box.showModal();
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const at = "123456".indexOf(event.key);
  if (at >= 0) location.hash = `#/${VIEWS[at].name}`;
  else if (event.key === "r") refresh();
  else if (event.key === "/") {
    const filter = main.querySelector("input[type=search]");
    if (filter) filter.focus();
  } else return;
  event.preventDefault();
}

for (const one of VIEWS) {
  document.getElementById("views").append(h("a", { href: `#/${one.name}`, "data-view": one.name }, one.title));
}
chooseTheme();
document.getElementById("sign-in").addEventListener("click", dialog);
document.addEventListener("keydown", key);
window.addEventListener("hashchange", () => {
  // The link that skips the head is no address of a view.
  if (location.hash !== "#main") show();
});
show();
round();
