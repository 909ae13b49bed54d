/** Members of a cluster: at its centre, at its edge, nearly in, at random; or chosen rows. */

import { grouped, h, svg } from "./dom.js";

/**
 * @typedef {Object} Item
 * @property {number} row
 * @property {number|null} [distance]  from the centre, over the radius
 * @property {string} [title]  what the row is called
 * @property {string} [text]  what is known of it
 * @property {number[]} [spark]  its numbers, when there is nothing else to show
 *
 * @typedef {{items: Item[], total: number}} Page
 */

/** @type {[string, string][]} */
export const ORDERS = [
  ["center", "centre"],
  ["edge", "edge"],
  ["near", "nearly in"],
  ["random", "random"],
];

/**
 * @param {HTMLElement} root  emptied and filled
 * @param {Object} how
 * @param {(order: string, offset: number) => Promise<Page>} how.load
 * @param {(row: number) => string|null} how.thumb  address of a picture, or null
 * @param {(row: number|null) => void} [how.onHover]
 * @param {(row: number) => void} [how.onPick]
 * @param {(row: number) => string} [how.marks]  more classes of a row's tile
 * @param {HTMLElement|null} [how.head]  where the choice of an order goes, if not above the rows
 */
export function makeGallery(root, { load, thumb, onHover = () => {}, onPick = () => {}, marks = () => "", head = null }) {
  let [order, serial, offset, total, busy] = ["center", 0, 0, 0, false];
  let shown = ""; // the rows, if no more than the first were loaded
  const tiles = h("div", { class: "tiles", role: "list" });
  const note = h("p", { class: "gallery-note", role: "status" });
  const tabs = ORDERS.map(([value, words]) =>
    h("button", {
      type: "button",
      class: "tab",
      "data-order": value,
      "aria-pressed": String(value === order),
      text: words,
      onclick: () => show(value),
    }),
  );
  const bar = h("div", { class: "tabs", role: "group", "aria-label": "Which rows" }, ...tabs);
  head?.replaceChildren(bar);
  root.replaceChildren(...(head ? [] : [bar]), tiles, note);
  tiles.addEventListener("scroll", () => {
    const right = tiles.scrollWidth - tiles.clientWidth - tiles.scrollLeft;
    const below = tiles.scrollHeight - tiles.clientHeight - tiles.scrollTop;
    if (Math.max(right, below) < 300 && Math.min(right, below) < 300) more();
  });

  // One stop of the Tab key; arrows go from row to row.
  tiles.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const all = [...tiles.querySelectorAll(".tile")];
    const next = by && all[all.indexOf(document.activeElement) + by];
    if (!next) return;
    for (const one of all) one.tabIndex = one === next ? 0 : -1;
    next.focus();
    event.preventDefault();
    if (next === all.at(-1)) more();
  });

  async function show(/** @type {string} */ next) {
    order = next;
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.order === order));
    [offset, total] = [0, Infinity];
    serial++;
    busy = false;
    await more(true);
  }

  /** Show which rows are marked, without loading them again. */
  function remark() {
    for (const one of tiles.querySelectorAll(".tile")) {
      const classes = marks(Number(one.dataset.row)).split(" ");
      for (const name of ["is-marked", "is-excluded"]) one.classList.toggle(name, classes.includes(name));
      one.setAttribute("aria-pressed", String(classes.includes("is-marked")));
    }
  }

  async function more(fresh = false) {
    if (busy || offset >= total) return;
    busy = true;
    const mine = serial;
    /** @type {Page} */
    let page;
    try {
      page = await load(order, offset);
    } catch (error) {
      if (mine === serial) note.textContent = `These rows could not be loaded. ${error.message ?? ""}`;
      busy = false;
      return;
    }
    if (mine !== serial) return; // somebody has asked for something else meanwhile
    busy = false;
    const what = JSON.stringify(page.items);
    if (!fresh || what !== shown) {
      const made = page.items.map((item) => tile(item, thumb(item.row), onHover, onPick));
      if (fresh) tiles.replaceChildren(...made);
      else tiles.append(...made);
      const first = tiles.querySelector(".tile");
      if (fresh && first) first.tabIndex = 0;
      shown = fresh ? what : "";
    } // else these very tiles stay: one may be about to be clicked, or have the focus
    remark();
    offset += page.items.length;
    total = page.items.length ? page.total : offset;
    note.textContent = total === 0 ? "No rows here. Pick a cluster in the table or on the map." : "";
  }

  return {
    /** Load again: another cluster, or the same after a change. */
    refresh: () => show(order),
    /** Orders only make sense around a centre. */
    setOrders: (/** @type {boolean} */ shown) => (bar.hidden = !shown),
    show,
    remark,
  };
}

/**
 * @param {Item} item
 * @param {string|null} address
 * @param {(row: number|null) => void} onHover
 * @param {(row: number) => void} onPick
 */
function tile(item, address, onHover, onPick) {
  const title = item.title ?? `row ${grouped(item.row)}`;
  const far = item.distance == null ? "" : `${item.distance.toFixed(2)} R`;
  const picture = address ? image(address, title) : words(item);
  const button = h(
    "button",
    { type: "button", tabindex: -1, "data-row": item.row, class: address ? "tile is-image" : "tile", title: item.text ?? title },
    picture,
    h("span", { class: "tile-foot", title: far && "distance from the centre, in radii" }, h("span", { class: "tile-title", text: title }), h("span", { text: far })),
  );
  button.addEventListener("pointerenter", () => onHover(item.row));
  button.addEventListener("pointerleave", () => onHover(null));
  button.addEventListener("focus", () => onHover(item.row));
  button.addEventListener("click", () => onPick(item.row));
  return h("div", { role: "listitem" }, button);
}

/** @param {string} address @param {string} title */
function image(address, title) {
  const picture = h("img", { src: address, alt: "", loading: "lazy", decoding: "async", width: 96, height: 96 });
  picture.addEventListener("error", () => {
    picture.replaceWith(h("span", { class: "broken", text: "no picture", title: `${title}: the picture cannot be read` }));
  });
  return picture;
}

/** @param {Item} item */
function words(item) {
  if (item.text) return h("span", { class: "tile-text", text: item.text });
  return item.spark?.length ? sparkline(item.spark) : h("span", { class: "tile-text", text: "" });
}

/** @param {number[]} values */
function sparkline(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const y = (/** @type {number} */ v) => 40 - (36 * (v - low)) / (high - low || 1);
  const points = values.map((v, i) => `${(96 * i) / Math.max(1, values.length - 1)},${y(v)}`);
  return svg(
    "svg",
    { class: "spark", viewBox: "0 0 96 44", "aria-hidden": "true", preserveAspectRatio: "none" },
    svg("polyline", { points: points.join(" ") }),
  );
}
