// The configuration of the scheduler: present values, changes that are collected, validated and applied, history.

import { cluster, get, send } from "./api.js";
import { plan, whatIf } from "./trial.js";
import { count, h, keyed, many, replace, setAttribute, setText, table, time } from "./dom.js";

const PREFIX = "yarn.scheduler.capacity.";
const SHOWN = 500;

export function open(main, place, signal) {
  const view = { present: new Map(), staged: new Map(), version: "", versions: [], log: [], note: "" };
  const find = h("input", { type: "search", placeholder: "part of a name or value" });
  const name = h("input", { type: "text", placeholder: `${PREFIX}root...`, size: 44 });
  const value = h("input", { type: "text", size: 14 });
  const body = h("tbody");
  const said = h("p", { class: "note", role: "status" });
  const staged = h("section", { "aria-label": "Collected changes" });
  const past = h("section", { "aria-label": "History" });
  const add = h("form", { class: "bar-of-tools", onsubmit: (event) => {
    event.preventDefault();
    if (!name.value.trim()) return;
    view.staged.set(name.value.trim(), value.value.trim() || null);
    name.value = value.value = "";
    draw();
  } }, h("label", {}, "Property", name), h("label", {}, "Value (empty: delete)", value), h("button", { type: "submit" }, "Collect the change"));
  main.append(
    h("h2", {}, "Configuration"),
    said, staged, h("h3", {}, "A property that is not in the list"), add,
    h("h3", {}, "Present values"),
    h("div", { class: "bar-of-tools" }, h("label", {}, "Filter", find)),
    h("div", { class: "scroll" }, h("table", {}, h("caption", {}, "Set properties"),
      h("thead", {}, h("tr", {}, ["Property", "Value", "Change"].map((text) => h("th", { scope: "col" }, text)))), body)),
    past);
  find.addEventListener("input", draw);

  function draw() {
    const wanted = find.value.toLowerCase();
    const all = [...view.present].filter(([key, text]) => !wanted || `${key} ${text}`.toLowerCase().includes(wanted)).sort();
    setText(said, view.note || `Version ${view.version}; ${count(view.present.size)} properties are set${all.length > SHOWN ? `, the first ${SHOWN} that match are shown` : ""}.`);
    keyed(body, all.slice(0, SHOWN), ([key]) => key,
      ([key]) => h("tr", {}, h("td", { class: "w" }, h("code", {}, key)), h("td", { class: "w" }), h("td", {}, editor(key))),
      (line, [key, text]) => {
        setText(line.children[1], text);
        setAttribute(line, "class", view.staged.has(key) ? "staged" : null);
      });
    drawStaged();
  }
  function editor(key) {
    const change = () => {
      const input = h("input", { type: "text", size: 16, value: view.staged.get(key) ?? view.present.get(key) ?? "", "aria-label": `New value of ${key}` });
      const form = h("form", { onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim() === view.present.get(key)) view.staged.delete(key);
        else view.staged.set(key, input.value.trim() || null);
        form.replaceWith(button);
        draw();
      } }, input, " ", h("button", { type: "submit" }, "Collect"));
      button.replaceWith(form);
      input.focus();
    };
    const button = h("button", { type: "button", "aria-label": `Change ${key}`, onclick: change }, "Change");
    return button;
  }
  function drawStaged() {
    // What was asked about these changes stays until they are others.
    const shown = JSON.stringify([...view.staged].map(([key, text]) => [key, text, view.present.get(key)]));
    if (staged.dataset.shown === shown) return;
    staged.dataset.shown = shown;
    if (!view.staged.size) return replace(staged);
    const result = h("div", { "aria-live": "polite" });
    const drop = (key) => h("button", { type: "button", "aria-label": `Drop the change of ${key}`, onclick: () => { view.staged.delete(key); draw(); } }, "Drop");
    const rows = [...view.staged].map(([key, text]) => [h("code", {}, key), difference(view.present.get(key), text), drop(key)]);
    return replace(staged,
      h("h3", {}, `Collected changes: ${view.staged.size}`),
      table("Nothing is changed before you apply them.", [{ text: "Property", w: true }, { text: "Before and after" }, { text: "Drop" }], rows),
      h("div", { class: "bar-of-tools" },
        h("button", { type: "button", onclick: () => validate(view, result) }, "Validate"),
        h("button", { type: "button", onclick: () => plan(changeOf(view.staged), result) }, "Plan: what changes"),
        h("button", { type: "button", onclick: () => whatIf(changeOf(view.staged), result) }, "What if: what would be placed"),
        h("button", { type: "button", onclick: () => apply(result) }, "Apply"),
        h("button", { type: "button", onclick: () => { view.staged.clear(); draw(); } }, "Drop all")),
      result);
  }
  async function apply(result) {
    // The plan stands above the question, so that nobody applies what nobody looked at.
    const planned = await plan(changeOf(view.staged), result);
    if (!planned || !(await agrees(result, `Apply ${view.staged.size} ${view.staged.size === 1 ? "change" : "changes"}?`))) return;
    try {
      await send("PUT", "ws/v1/cluster/scheduler-conf", changeOf(view.staged), null, planned.version);
      view.staged.clear();
      await read();
    } catch (error) {
      say(result, error.message, false);
    }
  }
  async function read() {
    try {
      const [conf, version, versions, log] = await Promise.all([
        cluster("/scheduler-conf", null, signal), cluster("/scheduler-conf/version", null, signal), get("v1/conf/versions", null, signal), get("v1/conf/log", null, signal)]);
      view.note = "";
      view.present = new Map(many(conf.property).map((one) => [one.name, one.value]));
      // Hadoop 3.5 has the name of the document around it, 3.4 has not.
      view.version = (version.configversion || version).versionID;
      view.versions = versions.versions;
      view.log = log.entries;
    } catch (error) {
      if (error.name === "AbortError") throw error;
      view.note = error.status === 401 || error.status === 403 ? `Sign in as an administrator to see the configuration: ${error.message}` : error.message;
      view.present.clear();
      view.versions = [];
    }
    draw();
    if (!past.contains(document.activeElement)) history(view, past, signal);
  }
  return read;
}

const changeOf = (staged) => ({
  "global-updates": [{ entry: [...staged].map(([key, value]) => (value === null ? { key } : { key, value })) }],
});

function difference(before, after) {
  return h("span", { class: "diff" },
    before === undefined ? "(not set)" : h("del", { class: "less" }, before), " \u2192 ",
    after === null || after === undefined ? "(deleted)" : h("ins", { class: "more" }, after));
}

// Asks below what is shown; a dialog of the browser would hide it.
function agrees(result, question) {
  return new Promise((resolve) => {
    const answer = (yes) => () => { row.remove(); resolve(yes); };
    const yes = h("button", { type: "button", onclick: answer(true) }, "Apply now");
    const row = h("div", { class: "bar-of-tools", role: "group", "aria-label": question }, h("b", {}, question), yes,
      h("button", { type: "button", onclick: answer(false) }, "Do not apply"));
    result.append(row);
    yes.focus();
  });
}

const say = (result, text, fine) => replace(result, h("p", { class: fine ? "fine" : "problem" }, text));

async function validate(view, result) {
  try {
    await send("POST", "ws/v1/cluster/scheduler-conf/validate", changeOf(view.staged));
    say(result, "The live scheduler would accept these changes.", true);
    return true;
  } catch (error) {
    say(result, error.message, false);
    return false;
  }
}

function history(view, past, signal) {
  if (!view.versions.length) return replace(past);
  const shown = h("div");
  const look = (one, before) => h("button", { type: "button", "aria-label": `Show the difference of version ${one.version}`, onclick: async () => {
    try {
      const [now, then] = await Promise.all([one, before].map((of) => (of ? get(`v1/conf/versions/${of.version}`, null, signal) : { properties: {} })));
      replace(shown, changesOf(one, before, now, then));
    } catch (error) {
      say(shown, error.message, false);
    }
  } }, "Show the difference");
  const ordered = [...view.versions].sort((one, other) => other.version - one.version);
  const back = (one, at) => (at === 0 ? "" : h("button", { type: "button", "aria-label": `Roll back to it: version ${one.version}`, onclick: () => rollBack(one, shown) }, "Roll back to it"));
  const rows = ordered.map((one, at) => [String(one.version), time(one.stored_ms), look(one, ordered[at + 1]), back(one, at)]);
  return replace(past, h("h3", {}, "History"),
    table("Versions that the store keeps, newest first", [{ text: "Version", n: true }, { text: "When" }, { text: "Difference" }, { text: "Roll back" }], rows), shown, logOf(view.log));
}

async function rollBack(one, shown) {
  if (!confirm(`Make version ${one.version} the configuration again, as a new version?`)) return;
  try {
    await send("POST", `v1/conf/rollback/${one.version}`, {});
    say(shown, `Version ${one.version} holds again, as a new version.`, true);
  } catch (error) {
    say(shown, error.message, false);
  }
}

function logOf(entries) {
  if (!entries.length) return null;
  const change = (one) => Object.entries(one.updates || {}).map(([key, value]) => h("div", {}, h("code", {}, key), " ", value === null ? "(deleted)" : value));
  const heads = [{ text: "When" }, { text: "Who" }, { text: "What" }, { text: "Properties", w: true }, { text: "Refused because", w: true }];
  return table("Log of changes, newest first", heads, entries.slice(0, 50).map((one) => [time(one.at_ms), one.user, String(one.kind), h("div", {}, change(one).slice(0, 20)), one.refused || ""]));
}

function changesOf(one, before, now, then) {
  const old = new Map(Object.entries(then.properties));
  const young = new Map(Object.entries(now.properties));
  const keys = [...new Set([...old.keys(), ...young.keys()])].filter((key) => old.get(key) !== young.get(key)).sort();
  const title = before ? `Version ${one.version} against version ${before.version}` : `Version ${one.version}, the oldest that is kept`;
  return h("div", {}, h("h3", {}, title),
    keys.length ? table("", [{ text: "Property", w: true }, { text: "Before and after" }], keys.map((key) => [h("code", {}, key), difference(old.get(key), young.get(key))])) : h("p", { class: "note" }, "No property differs."));
}
