/**
 * What can be changed, what was changed before, and the part of it that is in the address.
 *
 * @typedef {Object} Settings
 * @property {number} sigma
 * @property {number} minSize
 * @property {number|null} maxClusters
 * @property {number|null} alpha
 *
 * @typedef {Object} State
 * @property {Settings} settings
 * @property {Object<string, string>} names  by the row that a name belongs to
 * @property {number[]} excluded
 */

const MANY = 200; // steps to undo
const LONG = 1500; // characters of names in an address

export class Store {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    /** @type {State[]} */
    this.past = [];
    this.lastKind = "";
  }

  /**
   * Change something. Changes of one kind in a row, such as while dragging, are one step.
   *
   * @param {Partial<State>} change
   * @param {string} kind
   */
  set(change, kind) {
    if (kind !== this.lastKind || kind === "") this.past.push(this.state);
    if (this.past.length > MANY) this.past.shift();
    this.lastKind = kind;
    this.state = { ...this.state, ...change };
  }

  /** The next change is a step of its own. */
  settle() {
    this.lastKind = "";
  }

  /** Whether something was undone. */
  undo() {
    const before = this.past.pop();
    if (!before) return false;
    this.state = before;
    this.lastKind = "";
    return true;
  }

  /** @param {ArrayLike<number>} labels @param {number} k @returns {string[]} name of each cluster */
  namesOf(labels, k) {
    const names = new Array(k).fill("");
    for (const row of Object.keys(this.state.names).map(Number).sort((a, b) => a - b)) {
      const label = labels[row];
      if (label >= 0 && !names[label]) names[label] = this.state.names[row];
    }
    return names;
  }

  /**
   * Name a cluster: its centre carries the name, and no other row of it does.
   *
   * @param {{center: number, rows: ArrayLike<number>}} cluster
   * @param {string} name
   */
  rename({ center, rows }, name) {
    const members = new Set(Array.from(rows));
    const kept = Object.entries(this.state.names).filter(([row]) => !members.has(Number(row)));
    const names = Object.fromEntries(kept);
    if (name) names[center] = name;
    this.set({ names }, "");
  }

  /** @returns {string} */
  hash() {
    const { settings, names, excluded } = this.state;
    const words = new URLSearchParams({ s: String(settings.sigma), m: String(settings.minSize) });
    if (settings.maxClusters !== null) words.set("k", String(settings.maxClusters));
    words.set("a", settings.alpha === null ? "none" : String(settings.alpha));
    const named = JSON.stringify(names);
    if (named !== "{}" && named.length < LONG) words.set("n", named);
    if (excluded.length && excluded.length < LONG / 8) words.set("x", excluded.join("."));
    return words.toString();
  }
}

/**
 * State from an address, as far as it makes sense.
 *
 * @param {string} hash
 * @param {State} start
 * @param {number} n  rows
 * @returns {State}
 */
export function fromHash(hash, start, n) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const settings = { ...start.settings };
  const sigma = Number(words.get("s"));
  if (sigma > 0 && Number.isFinite(sigma)) settings.sigma = sigma;
  const least = Number(words.get("m"));
  if (Number.isInteger(least) && least >= 2) settings.minSize = least;
  const most = Number(words.get("k"));
  if (words.has("s")) settings.maxClusters = Number.isInteger(most) && most >= 1 ? most : null;
  const alpha = words.get("a");
  if (alpha === "none") settings.alpha = null;
  else if (Number(alpha) > 0 && Number(alpha) < 1) settings.alpha = Number(alpha);
  const isRow = (/** @type {any} */ row) => Number.isInteger(Number(row)) && Number(row) >= 0 && Number(row) < n;
  let names = start.names;
  try {
    const given = Object.entries(JSON.parse(words.get("n") ?? "null") ?? {});
    const good = given.filter(([row, name]) => isRow(row) && typeof name === "string");
    if (good.length) names = Object.fromEntries(good.map(([row, name]) => [row, String(name).slice(0, 80)]));
  } catch {
    // an address that was cut off
  }
  const excluded = (words.get("x") ?? "").split(".").filter((row) => row && isRow(row)).map(Number);
  return { settings, names, excluded: excluded.length ? excluded : start.excluded };
}
