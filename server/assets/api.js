// Calls of the server. All addresses are relative to the page, so that it works behind a path prefix.

const root = new URL("../", document.baseURI);
const KEY = "capsched-sign-in";

export const state = { failed: null, last: 0, user: null };

// {kind: "user" | "token", value}; kept for the life of the tab.
export function signedIn() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) || null;
  } catch {
    return null;
  }
}

export function signIn(as) {
  if (as) sessionStorage.setItem(KEY, JSON.stringify(as));
  else sessionStorage.removeItem(KEY);
}

function address(path, query) {
  const url = new URL(path, root);
  for (const [key, value] of Object.entries(query || {})) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(key, value);
  }
  const as = signedIn();
  if (as && as.kind === "user") url.searchParams.set("user.name", as.value);
  return url;
}

function headers(more) {
  const as = signedIn();
  const all = { Accept: "application/json", ...more };
  if (as && as.kind === "token") all.Authorization = `Bearer ${as.value}`;
  return all;
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function message(response) {
  const text = await response.text();
  try {
    const body = JSON.parse(text);
    if (body.RemoteException) return body.RemoteException.message;
    return body.message || body.error || text;
  } catch {
    return text.startsWith("<") ? `${response.status} ${response.statusText}` : text || `${response.status} ${response.statusText}`;
  }
}

async function carry(path, query, options) {
  let response;
  try {
    response = await fetch(address(path, query), { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name !== "AbortError") state.failed = "no answer from the server";
    throw error;
  }
  state.last = Date.now();
  state.failed = null;
  if (!response.ok) throw new Refused(response.status, await message(response));
  return response;
}

export async function get(path, query, signal) {
  return (await carry(path, query, { headers: headers(), signal })).json();
}

// With `version`, a change of the configuration is made only while that version holds.
export async function send(method, path, body, query, version) {
  const more = { "Content-Type": "application/json", "X-XSRF-Header": "capsched" };
  if (version !== undefined) more["If-Match"] = `"${version}"`;
  const response = await carry(path, query, { method, headers: headers(more), body: JSON.stringify(body) });
  return response.text();
}

export const cluster = (path, query, signal) => get(`ws/v1/cluster${path}`, query, signal);

// Events of a stream (text/event-stream) from an id on; ends with the signal. `EventSource` cannot send a token.
export async function follow(path, query, onEvent, signal) {
  const response = await carry(path, query, { headers: headers({ Accept: "text/event-stream" }), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    state.last = Date.now();
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const fields = { data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        const [name, ...text] = line.split(":");
        const shown = text.join(":").replace(/^ /, "");
        if (name === "data") fields.data += (fields.data ? "\n" : "") + shown;
        else if (name) fields[name] = shown;
      }
      rest = rest.slice(end + 2);
      if (fields.data) onEvent(fields);
    }
  }
}
