/**
 * Questions to the server. The token is in a cookie; nothing is asked of anyone else.
 *
 * @typedef {import("./store.js").Settings} Settings
 */

import { openAnswer } from "./codec.js";

/** An answer that is no answer: what the server said about it. */
export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class Server {
  constructor() {
    this.page = Math.random().toString(36).slice(2);
    this.serial = 0;
    /** @type {AbortController|null} */
    this.latest = null;
  }

  meta() {
    return json("/api/meta");
  }

  /** @param {string} view */
  points(view) {
    return binary(`/api/points?view=${view}`);
  }

  graph() {
    return binary("/api/graph");
  }

  /** Clusters; a newer question makes an older one void. @param {Settings} settings */
  async fit(settings) {
    this.latest?.abort();
    this.latest = new AbortController();
    const body = { ...settings, page: this.page, serial: ++this.serial };
    return openAnswer(await (await ask("/api/fit", body, this.latest.signal)).arrayBuffer());
  }

  /** @param {Settings} settings */
  fill(settings) {
    return ask("/api/fill", settings);
  }

  /** @param {Settings} settings @param {number} cluster @param {string} order @param {number} offset */
  rows(settings, cluster, order, offset) {
    return json(`/api/rows?${query({ ...settings, cluster, order, offset })}`);
  }

  /** @param {ArrayLike<number>} rows */
  named(rows) {
    return json(`/api/rows?rows=${Array.from(rows).join(",")}`);
  }

  /** @param {string} word */
  search(word) {
    return json(`/api/search?${query({ q: word })}`);
  }

  /** @param {number} row */
  thumb(row) {
    return `/api/thumb/${row}`;
  }

  /** @param {Settings} settings */
  certificate(settings) {
    return json(`/api/certificate?${query(settings)}`);
  }

  /** @param {Settings} settings */
  code(settings) {
    return json(`/api/code?${query(settings)}`);
  }

  /** @param {object} notes */
  keep(notes) {
    return ask("/api/notes", notes);
  }

  /** @param {object} what */
  async export(what) {
    return (await ask("/api/export", what)).json();
  }

  cancel() {
    return ask("/api/cancel", {});
  }

  /** @param {Object<string, (record: any) => void>} listeners by kind, and "gone" and "back" */
  listen(listeners) {
    const source = new EventSource("/api/events");
    for (const [kind, listener] of Object.entries(listeners)) {
      source.addEventListener(kind, (event) => listener(JSON.parse(/** @type {any} */ (event).data)));
    }
    source.onerror = () => listeners.gone?.(null);
    source.onopen = () => listeners.back?.(null);
    return source;
  }
}

/** @param {Object<string, any>} values */
function query(values) {
  const words = Object.entries(values).map(([name, value]) => [name, value === null ? "none" : String(value)]);
  return new URLSearchParams(words).toString();
}

/** @param {string} address @param {object} body @param {AbortSignal} [signal] */
async function ask(address, body, signal) {
  const headers = { "content-type": "application/json" };
  return checked(await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal }));
}

/** @param {string} address */
async function json(address) {
  return (await checked(await fetch(address))).json();
}

/** @param {string} address */
async function binary(address) {
  return openAnswer(await (await checked(await fetch(address))).arrayBuffer());
}

/** @param {Response} response */
async function checked(response) {
  if (response.ok) return response;
  const text = await response.text();
  let message = text.trim();
  try {
    message = JSON.parse(text).error ?? message;
  } catch {
    // plain words
  }
  throw new Refused(response.status, message);
}
