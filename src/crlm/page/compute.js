/**
 * Clusters for some settings, from the nearest place that knows them exactly: this page when it
 * has the pairs, otherwise the server.
 *
 * @typedef {import("./store.js").Settings} Settings
 * @typedef {{center: number, rows: Int32Array, size: number, sigma: number|null, p: number|null,
 *            loss: number}} Found
 * @typedef {{settings: Settings, clusters: Found[], ms: number, where: "page"|"server"}} Result
 */

import { findClusters, makeGraph, replay, sqCutoff } from "./greedy.js";

export class Computer {
  /** @param {import("./api.js").Server} server @param {any} meta */
  constructor(server, meta) {
    this.server = server;
    this.meta = meta;
    /** @type {import("./greedy.js").Graph|null} */
    this.graph = null;
    /** @type {Map<number, any>} */
    this.steps = new Map(); // by number of the stop
    /** @type {Settings|null} */
    this.filled = meta.start; // settings of the steps, but for sigma
  }

  async load() {
    if (!this.meta.inPage) return;
    const { arrays } = await this.server.graph();
    this.graph = makeGraph({ n: this.meta.n, .../** @type {any} */ (arrays) });
  }

  /** @param {any} record */
  learn(record) {
    this.steps.set(record.i, record);
  }

  /** Forget the steps: others are on their way. @param {Settings} settings */
  forget(settings) {
    this.steps.clear();
    this.filled = settings;
  }

  /** Clusters at each stop, as far as known. @returns {(number|null)[]} */
  curve() {
    return this.meta.stops.map((_, /** @type {number} */ i) => this.steps.get(i)?.k ?? null);
  }

  /** Answer of this page, or null when it does not know. @param {Settings} settings @returns {Result|null} */
  here(settings) {
    if (!this.graph || settings.sigma > this.meta.limit) return null;
    const began = performance.now();
    const clusters = settings.alpha === null ? this.search(settings) : this.replay(settings);
    return clusters && { settings, clusters, ms: performance.now() - began, where: "page" };
  }

  /** @param {Settings} settings @returns {Promise<Result>} */
  async there(settings) {
    const { head, arrays } = await this.server.fit(settings);
    const { centers, sizes, sigmas, losses, p } = head.clusters;
    const clusters = centers.map((/** @type {number} */ center, /** @type {number} */ j) => ({
      center,
      rows: arrays.rows.subarray(arrays.ends[j], arrays.ends[j + 1]),
      size: sizes[j],
      sigma: sigmas[j],
      loss: losses[j],
      p: p[j],
    }));
    return { settings, clusters, ms: head.ms, where: "server" };
  }

  /** Without a test, the whole algorithm. @param {Settings} settings @returns {Found[]} */
  search({ sigma, minSize, maxClusters }) {
    const { d, G } = this.meta;
    const found = findClusters(/** @type {any} */ (this.graph), { sigma, d, G, minSize, maxClusters });
    const known = this.stepAt(sigma);
    return found.map((cluster, j) => ({
      ...cluster,
      p: null,
      sigma: known && known.centers[j] === cluster.center ? known.sigmas[j] : null,
    }));
  }

  /** With a test, what the server found at this stop. @param {Settings} settings @returns {Found[]|null} */
  replay(settings) {
    const known = this.isFilled(settings) ? this.stepAt(settings.sigma) : null;
    if (!known) return null;
    const cutoff = sqCutoff(settings.sigma, this.meta.d, this.meta.G);
    const members = replay(/** @type {any} */ (this.graph), known.centers, cutoff);
    return members.map((rows, j) => ({
      center: known.centers[j],
      rows,
      size: known.sizes[j],
      sigma: known.sigmas[j],
      loss: known.losses[j],
      p: known.p[j],
    }));
  }

  /** @param {number} sigma */
  stepAt(sigma) {
    const i = this.meta.stops.indexOf(sigma);
    return i < 0 ? null : (this.steps.get(i)?.clusters ?? null);
  }

  /** Whether the steps are for these settings. @param {Settings} settings */
  isFilled(settings) {
    return (
      this.filled !== null &&
      ["minSize", "maxClusters", "alpha"].every((name) => this.filled[name] === settings[name])
    );
  }
}
