// A change before it is made: what it alters, and what would be placed with it and without it.

import { send } from "./api.js";
import { amount, count, h, many, replace, table } from "./dom.js";

const SHOWN = 200;

// What a change would alter. The plan, where the scheduler would accept the change.
export function plan(change, place) {
  return tried("v1/plan", change, place, (found) => {
    const queues = many(found.queues);
    const rows = queues.slice(0, SHOWN).map((one) => [
      h("code", {}, one.queue), one.partition || "default",
      sides(one, "guaranteed", found.resource_types), sides(one, "maximum", found.resource_types)]);
    if (!rows.length) return h("p", { class: "note" }, "No guarantee and no maximum of a queue changes.");
    const heads = [{ text: "Queue", w: true }, { text: "Partition" }, { text: "Guaranteed" }, { text: "Maximum" }];
    return table(`What changes: guarantees and maximums${more(queues)}`, heads, rows);
  });
}

// What would be placed now, where the scheduler would accept the change.
export function whatIf(change, place) {
  return tried("v1/whatif", change, place, (found) => {
    const placed = found.placed;
    const said = h("p", { class: "note" },
      `With what is free and what waits now, ${count(placed.changed)} containers would be placed with the change, and ${count(placed.as_it_is)} without it.`);
    const queues = many(found.queues).flatMap((one) => partitions(one, found.resource_types));
    if (!queues.length) return [said, h("p", { class: "note" }, "No queue would use more or less than without the change.")];
    const heads = [{ text: "Queue", w: true }, { text: "Partition" }, { text: "Uses now" }, { text: "Without the change" }, { text: "With the change" }];
    return [said, table(`Queues that would use something else${more(queues)}`, heads, queues.slice(0, SHOWN))];
  });
}

const more = (queues) => (queues.length > SHOWN ? `; the first ${SHOWN} of ${count(queues.length)}` : "");

async function tried(path, change, place, shown) {
  replace(place, h("p", { class: "note" }, "It is tried on a copy of the scheduler."));
  try {
    const found = JSON.parse(await send("POST", path, change));
    const issues = many(found.issues);
    replace(place,
      h("p", { class: found.accepted ? "fine" : "problem" }, found.accepted ? `The live scheduler would accept these changes of version ${found.version}.` : `The live scheduler would refuse these changes: ${found.message}`),
      issues.length ? h("ul", { class: "issues" }, issues.map((one) => h("li", {}, `${one.severity}: ${one.message}`))) : null,
      found.accepted ? shown(found) : null);
    return found.accepted ? found : null;
  } catch (error) {
    replace(place, h("p", { class: "problem" }, error.message));
    return null;
  }
}

const text = (amounts, types) => (amounts ? many(types).map((name, at) => amount(name, amounts[at] || 0)).join(", ") : "(no such queue)");

function sides(one, which, types) {
  const [before, after] = [one.before, one.after].map((side) => text(side && side[which], types));
  if (before === after) return before;
  return h("span", { class: "diff" }, h("del", { class: "less" }, before), " \u2192 ", h("ins", { class: "more" }, after));
}

// The partitions in which a queue would use something else.
function partitions(one, types) {
  const names = [...new Set([...Object.keys(one.as_it_is), ...Object.keys(one.changed)])].sort();
  const shown = names.map((name) => [name, ...[one.used, one.as_it_is, one.changed].map((of) => text(of[name], types))]);
  return shown.filter(([, , without, changed]) => without !== changed).map(([name, used, without, changed]) => [
    h("code", {}, one.queue), name || "default", used, without,
    h("span", { class: "diff" }, h("ins", { class: "more" }, changed))]);
}
