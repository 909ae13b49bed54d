/** Elements, and numbers in words. What people wrote is only ever inserted as text. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Object<string, any>} [attributes]  "on..." are listeners, "text" is the text inside
 * @param {...(Node|string|null|undefined)} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(
  /** @type {string} */ tag,
  /** @type {Object<string, any>} */ attributes = {},
  /** @type {(Node|string|null|undefined)[]} */ ...children
) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

/** @param {Element} element @param {Object<string, any>} attributes @param {any[]} children */
function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = String(value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Three significant digits, as a person would write them; Python's cli.common.number. */
export function number(/** @type {number|null|undefined} */ value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(Number(value.toPrecision(3)));
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2).replace(/^-/, "−");
  const decimals = size === 0 ? 2 : Math.max(0, 2 - Math.floor(Math.log10(size)));
  return grouped(value, decimals);
}

/** Chance in as few digits as matter; Python's summary.p_value. */
export function chance(/** @type {number|null|undefined} */ p) {
  if (p === null || p === undefined || Number.isNaN(p)) return "–";
  if (p < 1e-16) return "<1e-16";
  return p < 1e-4 ? p.toExponential(0) : String(Number(p.toPrecision(2)));
}

/** Whole number with commas, or with some decimals. */
export function grouped(/** @type {number} */ value, decimals = 0) {
  const text = value.toLocaleString("en", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return text.replace(/^-/, "−");
}

/** "1 row", "2,000 rows". */
export function count(/** @type {number} */ n, /** @type {string} */ noun) {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}
