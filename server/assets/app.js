// One application: what it is, what it holds, and why it waits.

import { cluster, get, send, state } from "./api.js";
import { amount, count, duration, h, many, memory, percent, recent, replace, resource, setText, table, time } from "./dom.js";

const LIVE = new Set(["NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"]);

export function open(main, place, signal) {
  const id = place.rest[0];
  const head = h("h2", {}, id);
  const about = h("div");
  const why = h("div", { "aria-live": "polite" });
  const helps = h("div", { "aria-live": "polite" });
  const ask = h("button", { type: "button", hidden: true, onclick: () => tryHelp(id, helps) }, "Try what would help");
  const attempts = h("div");
  const said = h("p", { class: "problem", role: "alert" });
  const kill = h("button", { type: "button", hidden: true, onclick: () => end(id, said) }, "Kill the application");
  main.append(h("p", {}, h("a", { href: "#/apps" }, "Applications")), head, said, why, ask, helps, h("h3", {}, "About"), about, attempts, kill);
  return async () => {
    const [{ app }, found, tried] = await Promise.all([
      cluster(`/apps/${encodeURIComponent(id)}`, null, signal),
      get(`v1/apps/${encodeURIComponent(id)}/why`, null, signal),
      cluster(`/apps/${encodeURIComponent(id)}/appattempts`, null, signal),
    ]);
    setText(head, `${app.id} \u2013 ${app.name}`);
    const hidden = app.elapsedTime === undefined ? h("p", { class: "note" }, "Figures are shown to those who may see the application: its user, and administrators of its queue.") : null;
    replace(about, hidden, h("dl", { class: "fields" }, fields(app).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))), usage(app));
    if (!why.contains(document.activeElement)) replace(why, explanation(app, found));
    ask.hidden = !found.keys.length;
    replace(attempts, attemptsOf(tried));
    kill.hidden = !LIVE.has(app.state) || !(state.user && state.user.user);
  };
}

// The server tries changes on a copy of its scheduler, so that it is asked only on demand.
async function tryHelp(id, helps) {
  replace(helps, h("p", { class: "note" }, "Changes are tried on a copy of the scheduler."));
  try {
    const found = await get(`v1/apps/${encodeURIComponent(id)}/why`, { would_help: true });
    const gain = (step) => (step.lets_in ? "lets it in" : `${count(step.admits)} more containers at once`);
    const steps = found.would_help.map((step) => h("li", {}, `${step.what}: ${gain(step)}`));
    replace(helps, steps.length ? h("ul", {}, steps) : h("p", {}, "Nothing that was tried helps at once."));
  } catch (error) {
    replace(helps, h("p", { class: "problem" }, error.message));
  }
}

async function end(id, said) {
  if (!confirm(`Kill ${id}? Its containers end.`)) return;
  try {
    await send("PUT", `ws/v1/cluster/apps/${encodeURIComponent(id)}/state`, { state: "KILLED" });
    setText(said, "");
  } catch (error) {
    setText(said, error.message);
  }
}

// YARN leaves out what a caller may not see.
const known = (value, shown) => (value === undefined ? undefined : shown(value));

function fields(app) {
  const all = [
    ["User", app.user],
    ["Queue", h("a", { href: `#/queues/${encodeURIComponent(app.queue)}` }, app.queue)],
    ["State", app.state],
    ["FinalStatus", app.finalStatus],
    ["Application Type", app.applicationType],
    ["Application Tags", app.applicationTags],
    ["Application Priority", app.priority],
    ["Progress", known(app.progress, percent)],
    ["Started", known(app.startedTime, time)],
    ["Finished", known(app.finishedTime, time)],
    ["Elapsed", known(app.elapsedTime, duration)],
    ["AM container runs on", app.masterNodeId || app.amHostHttpAddress],
    ["Allocated memory", app.allocatedMB >= 0 ? memory(app.allocatedMB) : undefined],
    ["Allocated VCores", app.allocatedVCores >= 0 ? count(app.allocatedVCores) : undefined],
    ["Reserved memory", app.reservedMB > 0 ? memory(app.reservedMB) : undefined],
    ["Running Containers", app.runningContainers >= 0 ? count(app.runningContainers) : undefined],
    ["% of Queue", app.queueUsagePercentage !== undefined ? percent(app.queueUsagePercentage) : undefined],
    ["% of Cluster", app.clusterUsagePercentage !== undefined ? percent(app.clusterUsagePercentage) : undefined],
    ["Aggregate Resource Allocation", app.memorySeconds === undefined ? undefined : `${count(app.memorySeconds)} MB-seconds, ${count(app.vcoreSeconds)} vcore-seconds`],
    ["Preempted containers", app.numAMContainerPreempted === undefined ? undefined : count((app.numAMContainerPreempted || 0) + (app.numNonAMContainerPreempted || 0))],
    ["Node label expression of the AM", app.amNodeLabelExpression],
    ["Diagnostics", app.diagnostics],
  ];
  return all.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => [name, value instanceof Node ? value : String(value)]);
}

function usage(app) {
  const parts = many(app.resourceInfo && app.resourceInfo.resourceUsagesByPartition);
  if (!parts.length) return null;
  const heads = [{ text: "Partition" }, { text: "Used" }, { text: "Reserved" }, { text: "Pending" }];
  return table("Resources by partition", heads, parts.map((part) => [part.partitionName || "<DEFAULT_PARTITION>", resource(part.used), resource(part.reserved), resource(part.pending)]));
}

function attemptsOf(tried) {
  const list = many(tried.appAttempts && tried.appAttempts.appAttempt);
  if (!list.length) return null;
  const heads = [{ text: "Attempt" }, { text: "State" }, { text: "Started" }, { text: "AM container" }, { text: "Node" }];
  return table("Attempts", heads, list.map((one) => [one.appAttemptId || String(one.id), one.appAttemptState || "", time(one.startTime), one.containerId || "", one.nodeId || ""]));
}

function explanation(app, found) {
  if (!found.keys.length) {
    return h("div", {}, h("p", { class: "fine" }, LIVE.has(app.state) ? "It waits for nothing." : `It is over: ${app.state}.`), waits(found));
  }
  const place = found.position ? `, place ${count(found.position.place)} of ${count(found.position.of)} in the list ${found.position.list} of its queue` : "";
  return h("section", { "aria-label": "Why it waits" },
    h("h3", {}, `Why it waits: ${count(found.containers)} containers`),
    h("p", { class: "note" }, `Stage ${found.stage}${place}.`),
    found.keys.map((key) => of(key, found.types)),
    found.preemption ? h("p", {}, h("b", {}, found.preemption.token), ` \u2013 preemption: ${found.preemption.meaning}.`) : null,
    waits(found));
}

function of(key, types) {
  const size = types.map((name, at) => [name, key.size[at]]).filter(([, value]) => value).map(([name, value]) => amount(name, value));
  const title = `${count(key.containers)} \u00d7 ${size.join(", ")}${key.priority === null ? "" : `, request priority ${key.priority}`}`;
  return h("div", {},
    h("p", {}, h("b", {}, title)),
    key.findings.map((one, at) => h("div", { class: at ? "reason later" : "reason" },
      h("p", {}, h("b", {}, one.reason), ` \u2013 ${one.detail}.`),
      at ? h("p", {}, "Applies once the reasons above are gone.") : null,
      one.property ? h("p", {}, "Setting: ", h("code", {}, setting(one))) : null,
      evidence(one.evidence))));
}

// The property with the value that holds and the key that it stands at.
function setting(one) {
  if (!one.set_by) return `${one.property} (${one.source === "DERIVED" ? "from other settings" : "default"})`;
  return `${one.set_by.property} = ${one.set_by.value}`;
}

function waits(found) {
  const rows = found.timeline.filter((span) => span.why && span.to_ms > span.from_ms);
  if (!rows.length) return null;
  const heads = [{ text: "From", t: true }, { text: "For", n: true }, { text: "Containers", n: true }, { text: "Reason", w: true }];
  const age = found.timeline_age_ms >= 3000 ? `; seen ${duration(found.timeline_age_ms)} ago` : "";
  return table(`What it waited for, newest first${age}`, heads, rows.reverse().map((span) => [recent(span.from_ms), duration(span.to_ms - span.from_ms), count(span.containers), `${span.why.reason}: ${span.why.detail}`]));
}

function evidence(one) {
  const of = (value) => (one.dimension ? amount(one.dimension, value) : count(value));
  const parts = [];
  if (one.limit !== null) parts.push(`limit ${of(one.limit)}`);
  // What is counted and has no limit is there, not used.
  if (one.used !== null) parts.push(one.limit === null ? of(one.used) : `used ${of(one.used)}`);
  if (one.asked !== null) parts.push(`asked ${of(one.asked)}`);
  if (one.binding) parts.push(`the queue that binds is ${one.binding}`);
  const short = one.short.map(([name, nodes]) => `${count(nodes)} nodes lack ${name}`);
  const text = [...parts, ...short].join("; ");
  const heads = [{ text: "Who holds most" }, { text: "User" }, { text: "Queue" }, { text: "Holds", n: true }];
  const holders = one.holders.map((holder) => [h("a", { href: `#/app/${holder.id}` }, holder.id), holder.user, holder.queue, of(holder.amount)]);
  return [text ? h("p", { class: "note" }, `Evidence: ${text}.`) : null, holders.length ? table("", heads, holders) : null];
}
