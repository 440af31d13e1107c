// The queue hierarchy: used, guaranteed and maximum of each queue on a partition, with details below a row.

import { cluster, get } from "./api.js";
import { count, h, keyed, many, percent, replace, resource, setAttribute, setText, table } from "./dom.js";

const OPEN_AT_FIRST = 200;
const APPS_SHOWN = 10;
const unfolded = new Map();
const detailed = new Set();
let partition = "";
let query = "";

export function open(main, place, signal) {
  if (place.query.has("partition")) partition = place.query.get("partition");
  if (place.rest.length) detailed.add(place.rest.join("/"));
  const body = h("tbody");
  const filter = h("input", { type: "search", value: query, placeholder: "part of a path" });
  const chooser = h("select");
  const rows = { all: [] };
  filter.addEventListener("input", () => {
    query = filter.value;
    draw(body, rows);
  });
  chooser.addEventListener("change", () => {
    partition = chooser.value;
    draw(body, rows);
  });
  const fold = (all) => () => {
    for (const row of rows.all) unfolded.set(row.path, all);
    draw(body, rows);
  };
  main.append(
    h("h2", {}, "Queues"),
    h("div", { class: "bar-of-tools" },
      h("label", {}, "Partition", chooser),
      h("label", {}, "Filter", filter),
      h("button", { type: "button", onclick: fold(true) }, "Expand all"),
      h("button", { type: "button", onclick: fold(false) }, "Fold all")),
    legend(),
    h("div", { class: "scroll" },
      h("table", { role: "treegrid", "aria-label": "Queues" },
        h("thead", {}, h("tr", {},
          ["Queue", "State"].map((text) => h("th", { scope: "col" }, text)),
          h("th", { scope: "col" }, "Share of the partition"),
          ["Absolute Used Capacity", "Absolute Configured Capacity", "Absolute Configured Max Capacity", "Used Capacity"].map((text, at) => h("th", { scope: "col", class: at > 0 ? "n wide" : "n" }, short(text))),
          h("th", { scope: "col", class: "n wide" }, h("abbr", { title: "Applications, active and pending" }, "Apps")),
          h("th", { scope: "col", class: "n wide" }, "Containers"),
          h("th", { scope: "col", class: "n wide" }, "Pending"))),
        body)));
  body.addEventListener("keydown", (event) => key(event, body, rows));
  return async () => {
    const { scheduler } = await cluster("/scheduler", null, signal);
    rows.all = flat(scheduler.schedulerInfo, 1, null);
    rows.apps = await appsOfDetailed(rows.all, signal);
    partitions(chooser, rows.all);
    draw(body, rows);
  };
}

const SHORT = {
  "Absolute Used Capacity": "Used",
  "Absolute Configured Capacity": "Guaranteed",
  "Absolute Configured Max Capacity": "Maximum",
  "Used Capacity": "Used of guarantee",
};
const short = (name) => h("abbr", { title: name }, SHORT[name]);

function legend() {
  const sample = (...parts) => h("span", { class: "share", "aria-hidden": "true" }, parts);
  const part = (kind, width, left) => {
    const node = h("i", { class: kind });
    if (width) node.style.width = width;
    if (left) node.style.left = left;
    return node;
  };
  return h("ul", { class: "legend" },
    h("li", {}, sample(part("used", "100%")), "used, within the guarantee"),
    h("li", {}, sample(part("used above", "100%")), "used, above the guarantee"),
    h("li", {}, sample(part("guarantee", null, "11px")), "guaranteed (Absolute Configured Capacity)"),
    h("li", {}, sample(part("room", "100%")), "up to the maximum (Absolute Configured Max Capacity)"));
}

// The queues in order of their paths: an order that usage does not change.
function flat(info, level, parent) {
  const children = many(info.queues && info.queues.queue).sort((one, other) => (one.queuePath < other.queuePath ? -1 : 1));
  const row = { info, level, parent, path: info.queuePath || info.queueName, children: children.length };
  return [row, ...children.flatMap((child) => flat(child, level + 1, row))];
}

const capacities = (info) => many(info.capacities && info.capacities.queueCapacitiesByPartition);
const usages = (info) => many(info.resources && info.resources.resourceUsagesByPartition);
const on = (list) => list.find((one) => (one.partitionName || "") === partition);

function partitions(chooser, all) {
  const names = new Set(all.flatMap((row) => capacities(row.info).map((one) => one.partitionName || "")));
  names.add("");
  if (!names.has(partition)) partition = "";
  keyed(chooser, [...names].sort(), (name) => name, (name) => h("option", { value: name }, name || "<DEFAULT_PARTITION>"));
  chooser.value = partition;
}

function isUnfolded(row, all) {
  if (unfolded.has(row.path)) return unfolded.get(row.path);
  return all.length <= OPEN_AT_FIRST || row.level === 1;
}

function visible(rows) {
  const all = rows.all;
  if (query) return all.filter((row) => row.path.toLowerCase().includes(query.toLowerCase()));
  const shown = (row) => !row.parent || (isUnfolded(row.parent, all) && shown(row.parent));
  return all.filter(shown);
}

function draw(body, rows) {
  const lines = visible(rows).flatMap((row) => {
    const more = detailed.has(row.path) ? [{ details: true, row, key: `details of ${row.path}` }] : [];
    return [{ row, key: row.path }, ...more];
  });
  keyed(body, lines, (line) => line.key,
    (line) => (line.details ? h("tr", { class: "details" }, h("td", { colspan: 10 })) : blank(line.row, body, rows)),
    (node, line) => (line.details ? details(node, line.row, rows) : fill(node, line.row, rows)));
  const focusable = [...body.querySelectorAll("tr[aria-level]")];
  const at = focusable.find((node) => node.tabIndex === 0);
  if (!at && focusable.length) focusable[0].tabIndex = 0;
}

function blank(row, body, rows) {
  const node = h("tr", { "aria-level": row.level, tabindex: -1 },
    h("td", { class: "name", role: "rowheader" },
      h("button", { type: "button", class: "fold", tabindex: -1, onclick: () => turn(row.path, body, rows) }),
      h("button", { type: "button", class: "plain", tabindex: -1, onclick: () => detail(row.path, body, rows) }, row.info.queueName)),
    h("td", { role: "gridcell" }),
    h("td", { role: "gridcell" }, h("div", { class: "share" }, ["room", "used", "guarantee"].map((kind) => h("i", { class: kind })))),
    [0, 1, 2, 3, 4, 5, 6].map((at) => h("td", { class: at > 0 ? "n wide" : "n", role: "gridcell" })));
  node.dataset.path = row.path;
  node.firstChild.style.paddingLeft = `${(row.level - 1) * 18 + 4}px`;
  return node;
}

const clamped = (share) => `${Math.max(0, Math.min(100, share || 0))}%`;

function fill(node, row, rows) {
  const info = row.info;
  const cell = node.children;
  const part = on(capacities(info));
  const open = row.children > 0 ? isUnfolded(row, rows.all) : null;
  setAttribute(node, "aria-expanded", row.children > 0 ? String(open) : null);
  const fold = cell[0].firstChild;
  setText(fold, row.children > 0 ? (open ? "\u25be" : "\u25b8") : "\u00b7");
  fold.disabled = row.children === 0;
  setAttribute(fold, "aria-label", row.children > 0 ? `${open ? "Fold" : "Expand"} ${row.path}` : `${row.path} has no children`);
  setAttribute(cell[0].lastChild, "aria-expanded", String(detailed.has(row.path)));
  setText(cell[1], info.state || "");
  const used = part ? part.absoluteUsedCapacity : 0;
  const guarantee = part ? part.absoluteCapacity : 0;
  const maximum = part ? part.absoluteMaxCapacity : 0;
  const bar = cell[2].firstChild;
  const above = used > guarantee + 0.05;
  bar.children[0].style.width = clamped(maximum);
  bar.children[1].style.width = clamped(used);
  setAttribute(bar.children[1], "class", above ? "used above" : "used");
  bar.children[2].style.left = `min(${clamped(guarantee)}, 100% - 2px)`;
  bar.children[2].hidden = !part;
  setAttribute(bar, "role", "img");
  setAttribute(bar, "aria-label", `used ${percent(used)}${above ? ", above the guarantee" : ""}, guaranteed ${percent(guarantee)}, maximum ${percent(maximum)}`);
  const sum = total(row, rows.all);
  [part ? percent(used) : "\u2013", part ? percent(guarantee) : "\u2013", part ? percent(maximum) : "\u2013", part ? percent(part.usedCapacity) : "\u2013",
    `${count(sum.active)}/${count(sum.pending)}`, count(sum.containers), count(sum.waiting)].forEach((text, at) => setText(cell[at + 3], text));
}

// Applications and containers of the leaves below a queue.
function total(row, all) {
  const below = row.path + ".";
  const sum = { active: 0, pending: 0, containers: 0, waiting: 0 };
  for (const one of all) {
    if (one.children || !(one === row || one.path.startsWith(below))) continue;
    sum.active += one.info.numActiveApplications || 0;
    sum.pending += one.info.numPendingApplications || 0;
    sum.containers += one.info.numContainers || 0;
    sum.waiting += one.info.pendingContainers || 0;
  }
  return sum;
}

function turn(path, body, rows) {
  const row = rows.all.find((one) => one.path === path);
  if (!row || !row.children) return;
  unfolded.set(path, !isUnfolded(row, rows.all));
  draw(body, rows);
}

function detail(path, body, rows) {
  if (!detailed.delete(path)) detailed.add(path);
  draw(body, rows);
}

function key(event, body, rows) {
  const node = event.target.closest("tr[aria-level]");
  if (!node || event.target.closest(".details")) return;
  const all = [...body.querySelectorAll("tr[aria-level]")];
  const at = all.indexOf(node);
  const row = rows.all.find((one) => one.path === node.dataset.path);
  const go = (to) => {
    if (!to) return;
    all.forEach((one) => { one.tabIndex = one === to ? 0 : -1; });
    to.focus();
  };
  const open = row.children > 0 && isUnfolded(row, rows.all);
  if (event.key === "ArrowDown") go(all[at + 1]);
  else if (event.key === "ArrowUp") go(all[at - 1]);
  else if (event.key === "Home") go(all[0]);
  else if (event.key === "End") go(all.at(-1));
  else if (event.key === "ArrowRight" && row.children && !open) turn(row.path, body, rows);
  else if (event.key === "ArrowRight" && open) go(all[at + 1]);
  else if (event.key === "ArrowLeft" && open) turn(row.path, body, rows);
  else if (event.key === "ArrowLeft" && row.parent) go(all.find((one) => one.dataset.path === row.parent.path));
  else if ((event.key === "Enter" || event.key === " ") && event.target === node) detail(row.path, body, rows);
  else return;
  event.preventDefault();
}

async function appsOfDetailed(all, signal) {
  const found = new Map();
  for (const row of all.filter((one) => detailed.has(one.path))) {
    found.set(row.path, await get("v1/apps", { queue: row.path, live: true, limit: APPS_SHOWN }, signal));
  }
  return found;
}

function fields(info) {
  const part = on(capacities(info)) || {};
  const usage = on(usages(info)) || {};
  const bool = (value) => (value === undefined ? undefined : value ? "yes" : "no");
  const all = [
    ["Queue State", info.state],
    ["Queue Type", info.queueType],
    ["Capacity Mode", info.mode],
    ["Creation Method", info.creationMethod],
    ["Used Capacity", part.usedCapacity !== undefined ? percent(part.usedCapacity) : undefined],
    ["Configured Capacity", part.queueCapacityVectorInfo ? part.queueCapacityVectorInfo.configuredCapacityVector : undefined],
    ["Configured Max Capacity", part.maxCapacity !== undefined ? percent(part.maxCapacity) : undefined],
    ["Weight", part.weight >= 0 ? part.weight : undefined],
    ["Effective Capacity", resource(part.effectiveMinResource)],
    ["Effective Max Capacity", resource(part.effectiveMaxResource)],
    ["Used Resources", resource(usage.used)],
    ["Reserved Resources", resource(usage.reserved)],
    ["Pending Resources", resource(usage.pending)],
    ["Configured Max Application Master Limit", part.maxAMLimitPercentage !== undefined && !info.queues ? percent(part.maxAMLimitPercentage) : undefined],
    ["Max Application Master Resources", resource(usage.amLimit)],
    ["Used Application Master Resources", resource(usage.amUsed)],
    ["Max Application Master Resources Per User", resource(usage.userAmLimit)],
    ["Num Schedulable Applications", count(info.numActiveApplications)],
    ["Num Non-Schedulable Applications", count(info.numPendingApplications)],
    ["Num Containers", count(info.numContainers)],
    ["Max Applications", count(info.maxApplications)],
    ["Max Applications Per User", count(info.maxApplicationsPerUser)],
    ["Max Parallel Apps", count(info.maxParallelApps)],
    ["Configured Minimum User Limit Percent", info.userLimit !== undefined ? percent(info.userLimit) : undefined],
    ["Configured User Limit Factor", info.userLimitFactor],
    ["Maximum Allocation", resource(info.maximumAllocation)],
    ["Accessible Node Labels", many(info.nodeLabels).join(", ")],
    ["Ordering Policy", info.orderingPolicyInfo],
    ["Queue Priority", info.queuePriority],
    ["Default Application Priority", info.defaultPriority],
    ["Default Node Label Expression", info.defaultNodeLabelExpression],
    ["Preemption", info.preemptionDisabled === undefined ? undefined : info.preemptionDisabled ? "disabled" : "enabled"],
    ["Intra-queue Preemption", info.intraQueuePreemptionDisabled === undefined ? undefined : info.intraQueuePreemptionDisabled ? "disabled" : "enabled"],
    ["Auto Create Child Queue", bool(info.autoCreateChildQueueEnabled)],
  ];
  return all.filter(([, value]) => value !== undefined && value !== null && value !== "");
}

function details(node, row, rows) {
  const info = row.info;
  const focused = node.contains(document.activeElement);
  if (focused) return;
  replace(node.firstChild,
    h("h3", {}, `${row.path} on ${partition || "<DEFAULT_PARTITION>"}`),
    h("dl", { class: "fields" }, fields(info).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value))))),
    row.children ? null : users(info),
    applications(row, rows));
}

function users(info) {
  const list = many(info.users && info.users.user).sort((one, other) => (one.username < other.username ? -1 : 1));
  if (!list.length) return null;
  const heads = [{ text: "User Name" }, { text: "Max Resource" }, { text: "Weight", n: true }, { text: "Used Resource" }, { text: "Used AM Resource" },
    { text: "Schedulable Apps", n: true }, { text: "Non-Schedulable Apps", n: true }];
  return table("Active users", heads, list.map((user) => [user.username, resource(user.userResourceLimit), String(user.userWeight), resource(user.resourcesUsed),
    resource(user.AMResourceUsed), count(user.numActiveApplications), count(user.numPendingApplications)]));
}

function applications(row, rows) {
  const page = rows.apps && rows.apps.get(row.path);
  if (!page) return null;
  const to = (id) => h("a", { href: `#/app/${id}` }, id);
  const heads = [{ text: "Application" }, { text: "User" }, { text: "State" }, { text: "Containers", n: true }, { text: "Pending", n: true }, { text: "Reason" }];
  const lines = page.apps.map((app) => [to(app.id), app.user, app.state, count(app.runningContainers), count(app.pendingContainers), app.reason || ""]);
  return h("div", {},
    table(`Live applications: ${lines.length} of ${count(page.matched)}`, heads, lines),
    h("a", { href: `#/apps?queue=${encodeURIComponent(row.path)}` }, `All applications of ${row.path}`));
}
