/**
 * Colours of clusters: Okabe and Ito's, which colour-blind people can tell apart, and a lighter
 * set for dark pages. Colours repeat after seven; numbers tell clusters apart, too.
 */

export const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00"];
export const DARK = ["#4ea8e6", "#ff8a50", "#2fcf9f", "#f0a3cd", "#ffc14d", "#9adcff", "#f0e442"];

/** @returns {"light"|"dark"} */
export function themeNow(root = document.documentElement) {
  if (root.dataset.theme === "dark" || root.dataset.theme === "light") return root.dataset.theme;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** @returns {string[]} */
export function palette() {
  return themeNow() === "dark" ? DARK : LIGHT;
}

/** Colour of a cluster with this slot. */
export function colourOf(/** @type {number} */ slot) {
  const colours = palette();
  return colours[slot % colours.length];
}

/** Value of a custom property of the page's style. */
export function styled(/** @type {string} */ name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * @param {string} hex  "#rrggbb" or "#rgb"
 * @returns {[number, number, number]}
 */
export function rgb(hex) {
  const digits = hex.slice(1);
  const full = digits.length === 3 ? [...digits].map((c) => c + c).join("") : digits;
  if (!/^[0-9a-f]{6}$/i.test(full)) throw new Error(`not a colour: ${hex}`);
  return [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16));
}

/**
 * Colour slots that stay with their clusters: the largest overlaps first, then free slots.
 *
 * @param {Int32Array} before  label of each row
 * @param {number[]} slots  slot of each label in `before`
 * @param {{rows: ArrayLike<number>}[]} clusters
 * @returns {number[]} slot of each cluster
 */
export function follow(before, slots, clusters) {
  /** @type {[number, number, number][]} */
  const overlaps = [];
  clusters.forEach(({ rows }, j) => {
    /** @type {Map<number, number>} */
    const counts = new Map();
    for (let r = 0; r < rows.length; r++) {
      const label = before[rows[r]];
      if (label >= 0) counts.set(label, (counts.get(label) ?? 0) + 1);
    }
    for (const [label, count] of counts) overlaps.push([count, j, label]);
  });
  overlaps.sort((a, b) => b[0] - a[0] || a[1] - b[1] || a[2] - b[2]);
  /** @type {(number|undefined)[]} */
  const out = new Array(clusters.length);
  const used = new Set();
  for (const [, j, label] of overlaps) {
    if (out[j] === undefined && !used.has(slots[label])) {
      out[j] = slots[label];
      used.add(slots[label]);
    }
  }
  let free = 0;
  return Array.from(out, (slot) => {
    if (slot !== undefined) return slot;
    while (used.has(free)) free++;
    used.add(free);
    return free;
  });
}
