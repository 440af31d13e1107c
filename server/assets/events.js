// What the scheduler does, as it happens: a stream from an id on, newest first.

import { follow } from "./api.js";
import { count, h, keyed, setText } from "./dom.js";

const KEPT = 2000;
const SHOWN = 200;

export function open(main, place, signal) {
  const view = { all: [], paused: false, from: place.query.get("from") || "", lost: 0 };
  const kind = h("select", {}, h("option", { value: "" }, "any"));
  const find = h("input", { type: "search", placeholder: "part of a line" });
  const body = h("tbody");
  const said = h("p", { class: "note", role: "status" }, "Waiting for events.");
  const pause = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    view.paused = !view.paused;
    pause.setAttribute("aria-pressed", String(view.paused));
    setText(pause, view.paused ? "Go on" : "Pause");
    draw();
  } }, "Pause");
  main.append(
    h("h2", {}, "Events"),
    h("div", { class: "bar-of-tools" }, h("label", {}, "Kind", kind), h("label", {}, "Filter", find), pause),
    said,
    h("div", { class: "scroll" }, h("table", {}, h("caption", {}, "Newest first"),
      h("thead", {}, h("tr", {}, ["Id", "Time", "Kind", "What"].map((text, at) => h("th", { scope: "col", class: at ? null : "n" }, text)))), body)));
  kind.addEventListener("change", draw);
  find.addEventListener("input", draw);

  function draw() {
    if (view.paused) return;
    const kinds = [...new Set(view.all.map((one) => one.kind))].sort();
    keyed(kind, ["", ...kinds], (name) => name, (name) => h("option", { value: name }, name || "any"));
    const wanted = find.value.toLowerCase();
    const fit = view.all.filter((one) => (!kind.value || one.kind === kind.value) && (!wanted || one.text.toLowerCase().includes(wanted)));
    setText(said, `${count(fit.length)} of the last ${count(view.all.length)} events match${view.lost ? `; ${count(view.lost)} were dropped before they could be sent` : ""}.`);
    keyed(body, fit.slice(0, SHOWN), (one) => one.id, (one) => h("tr", {},
      h("td", { class: "n" }, one.id), h("td", {}, new Date(one.time).toLocaleTimeString()), h("td", {}, one.kind), h("td", { class: "w" }, line(one))));
  }
  function take(fields) {
    const event = JSON.parse(fields.data);
    if (fields.event === "gap") view.lost += event.dropped;
    else view.all.unshift({ ...event, id: fields.id });
    view.from = fields.id;
    if (view.all.length > KEPT) view.all.length = KEPT;
    if (!view.due) view.due = setTimeout(() => { view.due = null; draw(); }, 250);
  }
  async function run() {
    while (!signal.aborted) {
      try {
        await follow("v1/events", { from: view.from }, take, signal);
      } catch (error) {
        if (signal.aborted) return;
        setText(said, `The stream ended: ${error.message}. It is opened again.`);
      }
      await new Promise((done) => { setTimeout(done, 1000); });
    }
  }
  run();
  return async () => {};
}

// The text with a link to the application that it names.
function line(event) {
  const at = event.app ? event.text.indexOf(event.app) : -1;
  if (at < 0) return event.text;
  return [event.text.slice(0, at), h("a", { href: `#/app/${event.app}` }, event.app), event.text.slice(at + event.app.length)];
}
