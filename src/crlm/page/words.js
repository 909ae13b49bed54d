/** What to say of a result, and how much of it to draw. */

import { number } from "./dom.js";

/**
 * What is doubtful about a result, in a sentence; nothing if nothing is.
 *
 * @param {import("./compute.js").Result} result
 * @param {{ n: number, ownBandwidths?: boolean }} meta
 */
export function doubt({ clusters, settings }, { n, ownBandwidths }) {
  if (!clusters.length) {
    const test = settings.alpha === null ? "" : ", or leave out the test";
    return `No cluster at σ ${number(settings.sigma)}. Drag σ${test}.`;
  }
  if (ownBandwidths) {
    return "All clusters have the same σ here. A fit without a σ of yours gives each one of its own, so that clusters differ.";
  }
  if (clusters.some((cluster) => cluster.rows.length > 0.5 * n)) {
    return "One cluster holds most of the rows: σ may be too large, and background absorbed.";
  }
  return "";
}

/** Background rows to leave out of the map, evenly, when there are too many. @param {any} meta */
export function thinned({ n, maxDrawn }) {
  if (n <= 2 * maxDrawn) return null;
  const hidden = new Uint8Array(n).fill(1);
  for (let i = 0; i < maxDrawn; i++) hidden[Math.floor((i * n) / maxDrawn)] = 0;
  return hidden;
}
