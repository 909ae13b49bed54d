/** The table of clusters: sortable, each row a choice, names that can be typed. */

import { colourOf } from "./colours.js";
import { chance, count, grouped, h, number } from "./dom.js";

const PAGE = 100; // rows shown at first, and more at a time

/**
 * @typedef {Object} Row
 * @property {number} size
 * @property {number|null} sigma
 * @property {number|null} p
 * @property {number} loss
 *
 * @typedef {Object} Shown
 * @property {Row[]} clusters
 * @property {number[]} slots
 * @property {number|null} selected
 * @property {string[]} names
 * @property {number} background  rows in no cluster
 */

/** @type {[string, string, (row: Row, j: number) => number][]} */
const COLUMNS = [
  ["#", "Number, in the order found", (_, j) => j],
  ["size", "Rows in the cluster", (row) => -row.size],
  ["σ̂", "Standard deviation per coordinate", (row) => row.sigma ?? Infinity],
  ["p", "Chance of a ball like this in background alone", (row) => row.p ?? Infinity],
  ["loss", "Loss when it was chosen", (row) => row.loss],
];

/**
 * @param {HTMLElement} root  emptied and filled
 * @param {{onSelect: (label: number|null) => void, onName?: (label: number, name: string) => void}}
 *   listeners  without onName there is no column of names
 */
export function makeTable(root, { onSelect, onName }) {
  /** @type {Shown} */
  let shown = { clusters: [], slots: [], selected: null, names: [], background: 0 };
  let [by, down, limit] = [0, false, PAGE];
  const heads = COLUMNS.map(([name, title], c) =>
    h(
      "th",
      { scope: "col", title },
      h("button", { type: "button", class: "sort", text: name, onclick: () => sort(c) }),
    ),
  );
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more", onclick: () => show((limit += PAGE)) });
  const named = onName ? h("th", { scope: "col", class: "is-name", text: "name" }) : null;
  root.replaceChildren(
    h("table", { class: "clusters" }, h("thead", {}, h("tr", {}, ...heads, named)), body),
    more,
  );

  function sort(/** @type {number} */ column) {
    [by, down] = [column, by === column && !down];
    show();
  }

  function order() {
    const key = COLUMNS[by][2];
    const labels = shown.clusters.map((_, j) => j);
    labels.sort((a, b) => key(shown.clusters[a], a) - key(shown.clusters[b], b) || a - b);
    return down ? labels.reverse() : labels;
  }

  function show(_ = 0) {
    heads.forEach((head, c) => {
      if (c === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const labels = order().slice(0, limit);
    while (body.children.length > labels.length + 1) body.lastChild.remove();
    while (body.children.length < labels.length + 1) body.append(line(onSelect, onName));
    labels.forEach((j, at) => fill(body.children[at], shown, j));
    fillBackground(body.children[labels.length], shown, onName !== undefined);
    const left = shown.clusters.length - labels.length;
    more.hidden = left <= 0;
    more.textContent = `${count(left, "more cluster")}: show`;
  }

  return {
    /** @param {Shown} next */
    show(next) {
      shown = next;
      show();
    },
    /** Put the cursor on a cluster. */
    focus(/** @type {number} */ label) {
      root.querySelector(`tr[data-label="${label}"] .pick`)?.focus();
    },
  };
}

/**
 * @param {(label: number|null) => void} onSelect
 * @param {((label: number, name: string) => void)|undefined} onName
 */
function line(onSelect, onName) {
  const row = h("tr", {});
  const label = () => (row.dataset.label === "" ? null : Number(row.dataset.label));
  const pick = h(
    "button",
    { type: "button", class: "pick" },
    h("span", { class: "swatch", "aria-hidden": "true" }),
    h("span", { class: "number" }),
  );
  const cells = COLUMNS.slice(1).map(() => h("td", { class: "is-number" }));
  row.append(h("th", { scope: "row" }, pick), ...cells);
  if (onName) {
    const name = h("input", { type: "text", maxlength: 80, autocomplete: "off", placeholder: "name …" });
    name.addEventListener("change", () => onName(label() ?? -1, name.value.trim()));
    name.addEventListener("click", (/** @type {Event} */ event) => event.stopPropagation());
    row.append(h("td", { class: "is-name" }, name));
  }
  row.addEventListener("click", () => onSelect(label()));
  return row;
}

/** @param {HTMLElement} row @param {Shown} shown @param {number} j */
function fill(row, { clusters, slots, selected, names }, j) {
  const cluster = clusters[j];
  row.dataset.label = String(j);
  row.className = selected === j ? "is-selected" : "";
  const pick = /** @type {HTMLElement} */ (row.querySelector(".pick"));
  pick.setAttribute("aria-pressed", String(selected === j));
  pick.setAttribute("aria-label", `Cluster ${j}${names[j] ? `, ${names[j]}` : ""}`);
  row.querySelector(".swatch").style.background = colourOf(slots[j]);
  row.querySelector(".number").textContent = String(j);
  const cells = row.querySelectorAll("td.is-number");
  const texts = [grouped(cluster.size), number(cluster.sigma), chance(cluster.p), number(cluster.loss)];
  texts.forEach((text, c) => (cells[c].textContent = text));
  const name = row.querySelector("input");
  if (!name) return;
  name.hidden = false;
  name.setAttribute("aria-label", `Name of cluster ${j}`);
  if (document.activeElement !== name) name.value = names[j] ?? "";
}

/** @param {HTMLElement} row @param {Shown} shown @param {boolean} named */
function fillBackground(row, { background, selected }, named) {
  row.dataset.label = "";
  row.className = selected === -1 ? "is-background is-selected" : "is-background";
  const pick = row.querySelector(".pick");
  pick.setAttribute("aria-label", "Background: select no cluster");
  pick.setAttribute("aria-pressed", "false");
  row.querySelector(".swatch").style.background = "";
  row.querySelector(".number").textContent = "background";
  const cells = row.querySelectorAll("td.is-number");
  cells.forEach((cell, c) => (cell.textContent = c === 0 ? grouped(background) : ""));
  if (named) row.querySelector("input").hidden = true;
}
