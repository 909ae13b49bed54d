/**
 * A small explorer without a server, for a notebook: histogram, map and table from one preview.
 *
 * @typedef {{n: number, d: number, sigmas: number[], G: number, graph: any, steps: any[],
 *            estimate: any, suggested: number, plateau: [number, number]|null, start: number,
 *            points: {x: any, y: any}}} Preview
 */

import { unpack } from "./codec.js";
import { follow } from "./colours.js";
import { count, number } from "./dom.js";
import { labelsOf, makeGraph, replay } from "./greedy.js";
import { makeHistogram, nearest } from "./histogram.js";
import { PointMap } from "./map.js";
import { makeTable } from "./table.js";

/** @param {Preview} preview @param {Object<string, any>} places  elements: hist, map, table, status */
export function startInline(preview, places) {
  const { n, graph, sigmas, steps, estimate } = preview;
  const near = makeGraph({
    n,
    indptr: unpack(graph.indptr),
    indices: unpack(graph.indices),
    reach: /** @type {any} */ (unpack(graph.reach)),
  });
  let labels = new Int32Array(n).fill(-1);
  /** @type {number[]} */
  let slots = [];
  /** @type {number|null} */
  let selected = null;
  /** @type {any[]} */
  let clusters = [];

  const map = new PointMap(places.map, {
    wheel: false,
    onPick: (row) => select(row < 0 || labels[row] < 0 ? null : labels[row]),
  });
  const table = makeTable(places.table, { onSelect: (label) => select(label === selected ? null : label) });
  const { edges, counts, peaks } = estimate;
  const { suggested, plateau, G } = preview;
  const plot = makeHistogram(places.hist, { edges, counts, peaks, stops: sigmas, G, suggested, plateau }, { onInput: show });

  /** @param {number|null} label */
  function select(label) {
    selected = label;
    paint();
  }

  /** @param {number} stop */
  function show(stop) {
    const { centers, sizes, sigmas: spreads, losses, p } = steps[stop];
    const members = replay(near, centers, stop + 1);
    clusters = members.map((rows, j) => ({ center: centers[j], rows, size: sizes[j], sigma: spreads[j], loss: losses[j], p: p[j] }));
    slots = follow(labels, slots, clusters);
    labels = labelsOf(n, members);
    selected = null;
    const rows = members.reduce((sum, some) => sum + some.length, 0);
    plot.set(stop, `${number(sigmas[stop])}, ${count(clusters.length, "cluster")}`);
    places.status.textContent = `${count(clusters.length, "cluster")} · ${count(rows, "row")} of ${count(n, "row")} · sigma_max=${sigmas[stop]}`;
    paint();
  }

  function paint() {
    map.show({ labels, slots, selected, centers: clusters.map((cluster) => cluster.center) });
    table.show({ clusters, slots, selected, names: [], background: labels.filter((label) => label < 0).length });
  }

  map.show({ x: unpack(preview.points.x), y: unpack(preview.points.y), labels, slots, centers: [] });
  plot.curve(steps.map((step) => step.centers.length));
  show(nearest(sigmas, preview.start));
  return { labels: () => labels, show };
}
