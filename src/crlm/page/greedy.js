/**
 * Algorithm 2 over stored pairs: the same labels as crlm.greedy gives, to the bit.
 *
 * Losses are whole multiples of 2^-30, as in Python. There they are summed in int64; here in
 * doubles, which are exact below 2^53. Every partial sum is at most (sum of weights) * G * 2^30
 * in size, because a loss lies in [-G, 0]; `checkRange` refuses data for which that is not
 * below 2^53. So no sum is ever rounded, and ties are ties. Equal losses go to the lowest row.
 *
 * @typedef {Object} Graph  neighbours of every row, each pair at both of its rows
 * @property {number} n
 * @property {Int32Array} indptr  (n + 1)
 * @property {Int32Array} indices  rows
 * @property {Float64Array|Uint8Array|Uint16Array} reach  squared distance, or number of the
 *   first stop at which the pair is near
 *
 * @typedef {Object} Cluster
 * @property {number} center  row at the middle of the ball
 * @property {Int32Array} rows  its members, ascending
 * @property {number} size  number of points, or sum of their weights
 * @property {number} loss  when it was chosen
 *
 * @typedef {Object} Settings
 * @property {number} sigma
 * @property {number} d
 * @property {number} G
 * @property {Int32Array|null} [weights]  whole weights; null for one each
 * @property {number} [minSize]
 * @property {number|null} [maxClusters]
 * @property {(cluster: Cluster) => boolean} [accept]  a refused ball is passed over
 */

const PER_UNIT = 2 ** 30;
const LARGEST = 2 ** 53;
const ROUND = 1.5 * 2 ** 52; // adding it leaves no room for a fraction: half goes to even

export const BACKGROUND = -1;

/**
 * @param {{n: number, indptr: ArrayLike<number>, indices: ArrayLike<number>,
 *          reach: Float64Array|Uint8Array|Uint16Array}} half  each pair once, at either row
 * @returns {Graph}
 */
export function makeGraph({ n, indptr, indices, reach }) {
  const ends = new Int32Array(n + 1);
  for (let i = 0; i < n; i++) ends[i + 1] += indptr[i + 1] - indptr[i];
  for (let e = 0; e < indices.length; e++) ends[indices[e] + 1]++;
  for (let i = 0; i < n; i++) ends[i + 1] += ends[i];
  const next = ends.slice(0, n);
  const rows = new Int32Array(2 * indices.length);
  const far = new /** @type {any} */ (reach.constructor)(2 * indices.length);
  for (let i = 0; i < n; i++) {
    for (let e = indptr[i]; e < indptr[i + 1]; e++) {
      const j = indices[e];
      rows[next[i]] = j;
      far[next[i]++] = reach[e];
      rows[next[j]] = i;
      far[next[j]++] = reach[e];
    }
  }
  return { n, indptr: ends, indices: rows, reach: far };
}

/** Squared radius at which the loss ends; the order of the products is Python's. */
export function sqCutoff(/** @type {number} */ sigma, /** @type {number} */ d, /** @type {number} */ G) {
  return d * G * (sigma * sigma);
}

/** Whether losses of this many points sum without rounding. */
export function inRange(/** @type {number} */ totalWeight, /** @type {number} */ G) {
  return totalWeight * G * PER_UNIT < LARGEST;
}

/**
 * Clusters of Algorithm 2, best first.
 *
 * @param {Graph} graph  with squared distances
 * @param {Settings} settings
 * @returns {Cluster[]}
 */
export function findClusters(graph, settings) {
  const { minSize = 2, maxClusters = null, accept = () => true } = settings;
  const state = start(graph, settings);
  /** @type {Cluster[]} */
  const found = [];
  if (maxClusters === 0) return found;
  for (const cluster of ballsByLoss(graph, state)) {
    if (cluster.size === 1) break; // what is left has no loss beyond its own -G
    if (cluster.size < minSize || !accept(cluster)) continue;
    remove(graph, state, cluster.rows);
    found.push(cluster);
    if (found.length === maxClusters) break;
  }
  return found;
}

/**
 * Clusters whose centres are known: each ball is what earlier ones left of it. This is how a
 * page shows clusters that passed a test which only Python can make.
 *
 * @param {Graph} graph
 * @param {ArrayLike<number>} centers  rows, in the order found
 * @param {number} cutoff  neighbours reach less than this: sqCutoff, or a stop's number plus 1
 * @returns {Int32Array[]} members of each, ascending
 */
export function replay(graph, centers, cutoff) {
  const alive = new Uint8Array(graph.n).fill(1);
  return Array.from(centers, (i) => {
    const rows = ball(graph, alive, i, cutoff);
    for (const row of rows) alive[row] = 0;
    return rows;
  });
}

/**
 * @param {number} n
 * @param {Iterable<{rows: ArrayLike<number>}|ArrayLike<number>>} clusters
 * @returns {Int32Array} number of the cluster of each row, or -1
 */
export function labelsOf(n, clusters) {
  const labels = new Int32Array(n).fill(BACKGROUND);
  let j = 0;
  for (const cluster of clusters) {
    const rows = "rows" in cluster ? cluster.rows : cluster;
    for (let r = 0; r < rows.length; r++) labels[rows[r]] = j;
    j++;
  }
  return labels;
}

/**
 * @typedef {{L: Float64Array, alone: number, alive: Uint8Array, loss: (sq: number) => number,
 *            cutoff: number, weights: Int32Array|null}} State
 * @param {Graph} graph
 * @param {Settings} settings
 * @returns {State}
 */
function start({ n, indptr, indices, reach }, { sigma, d, G, weights = null }) {
  const total = weights ? weights.reduce((sum, w) => sum + w, 0) : n;
  if (!inRange(total, G)) throw new RangeError("too many points for exact sums in this page");
  const unit = d * (sigma * sigma);
  const cutoff = sqCutoff(sigma, d, G);
  const loss = (/** @type {number} */ sq) => rint(Math.min(sq / unit - G, 0) * PER_UNIT);
  const alone = rint(-G * PER_UNIT);
  const L = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let sum = weights ? alone * weights[i] : alone;
    for (let e = indptr[i]; e < indptr[i + 1]; e++) {
      if (reach[e] < cutoff) sum += weights ? loss(reach[e]) * weights[indices[e]] : loss(reach[e]);
    }
    L[i] = sum;
  }
  return { L, alone, alive: new Uint8Array(n).fill(1), loss, cutoff, weights };
}

/**
 * The ball of least loss, again and again; each row is a centre at most once. Removal only
 * raises a loss, so an entry that is out of date stands too early, never too late.
 *
 * @param {Graph} graph
 * @param {State} state
 * @returns {Generator<Cluster>}
 */
function* ballsByLoss(graph, { L, alone, alive, weights, cutoff }) {
  const first = L.slice();
  const order = rowsByLoss(first, alone, weights);
  const changed = new Heap();
  let at = 0;
  while (at < order.length || changed.size) {
    const row = order[at];
    let i, queued;
    if (at < order.length && (!changed.size || changed.isAfter(first[row], row))) {
      [queued, i] = [first[row], row];
      at++;
    } else {
      [queued, i] = changed.pop();
    }
    if (!alive[i] || (weights && !weights[i])) continue;
    if (L[i] !== queued) {
      changed.push(L[i], i);
      continue;
    }
    const rows = ball(graph, alive, i, cutoff);
    yield { center: i, rows, size: sizeOf(rows, weights), loss: L[i] / PER_UNIT };
  }
}

/** Rows, least loss first, the lowest among equals. */
function rowsByLoss(
  /** @type {Float64Array} */ L,
  /** @type {number} */ alone,
  /** @type {Int32Array|null} */ weights,
) {
  const every = Array.from(L.keys());
  const byLoss = (/** @type {number} */ a, /** @type {number} */ b) => L[a] - L[b] || a - b;
  if (weights) return every.sort(byLoss);
  // Most rows have no loss but their own, and are in order already.
  const some = every.filter((i) => L[i] !== alone).sort(byLoss);
  return some.concat(every.filter((i) => L[i] === alone));
}

/**
 * Rows alive around row `i`, ascending, with `i` itself.
 *
 * @param {Graph} graph
 * @param {Uint8Array} alive
 * @param {number} i
 * @param {number} cutoff
 */
function ball({ indptr, indices, reach }, alive, i, cutoff) {
  const rows = [i];
  for (let e = indptr[i]; e < indptr[i + 1]; e++) {
    if (reach[e] < cutoff && alive[indices[e]]) rows.push(indices[e]);
  }
  return Int32Array.from(rows).sort();
}

/** @param {Graph} graph @param {State} state @param {Int32Array} rows */
function remove({ indptr, indices, reach }, { L, alive, loss, cutoff, weights }, rows) {
  for (const c of rows) alive[c] = 0;
  for (const c of rows) {
    const w = weights ? weights[c] : 1;
    for (let e = indptr[c]; e < indptr[c + 1]; e++) {
      if (reach[e] < cutoff) L[indices[e]] -= loss(reach[e]) * w;
    }
  }
}

/** @param {Int32Array} rows @param {Int32Array|null} weights */
function sizeOf(rows, weights) {
  return weights ? rows.reduce((sum, row) => sum + weights[row], 0) : rows.length;
}

/** Nearest whole number, half to even, of something below 2^51 in size. */
function rint(/** @type {number} */ x) {
  return x + ROUND - ROUND;
}

/** Pairs (loss, row), the least first. */
class Heap {
  constructor() {
    /** @type {[number, number][]} */
    this.items = [];
  }

  get size() {
    return this.items.length;
  }

  /** Whether everything in the heap comes after (loss, row). */
  isAfter(/** @type {number} */ loss, /** @type {number} */ row) {
    const [least, first] = this.items[0];
    return loss < least || (loss === least && row < first);
  }

  push(/** @type {number} */ loss, /** @type {number} */ row) {
    const items = this.items;
    let at = items.push([loss, row]) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (!before(items[at], items[up])) break;
      [items[at], items[up]] = [items[up], items[at]];
      at = up;
    }
  }

  /** @returns {[number, number]} */
  pop() {
    const items = this.items;
    const top = items[0];
    const last = /** @type {[number, number]} */ (items.pop());
    if (items.length) {
      items[0] = last;
      this.sink();
    }
    return top;
  }

  sink() {
    const items = this.items;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= items.length) return;
      if (down + 1 < items.length && before(items[down + 1], items[down])) down++;
      if (!before(items[down], items[at])) return;
      [items[at], items[down]] = [items[down], items[at]];
      at = down;
    }
  }
}

/** @param {[number, number]} a @param {[number, number]} b */
function before(a, b) {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}
