// Small laws of the page's modules; run by tests/test_page.py with `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAnswer, unpack } from "../../src/crlm/page/codec.js";
import { DARK, LIGHT, follow, rgb } from "../../src/crlm/page/colours.js";
import { chance, count, number } from "../../src/crlm/page/dom.js";
import { findClusters, inRange, labelsOf, makeGraph, replay } from "../../src/crlm/page/greedy.js";
import { nearest, ticks } from "../../src/crlm/page/histogram.js";
import { inside } from "../../src/crlm/page/map.js";
import { blend, disc, pack } from "../../src/crlm/page/pixels.js";

const pairOf = (n, pairs) => {
  const indptr = [0];
  const [indices, reach] = [[], []];
  for (let i = 0; i < n; i++) {
    for (const [a, b, sq] of pairs) {
      if (a === i) {
        indices.push(b);
        reach.push(sq);
      }
    }
    indptr.push(indices.length);
  }
  return makeGraph({ n, indptr, indices, reach: Float64Array.from(reach) });
};

test("base64 gives back numbers", () => {
  assert.deepEqual([...unpack({ dtype: "i4", data: "AQAAAAABAAA=" })], [1, 256]);
  assert.throws(() => unpack({ dtype: "O", data: "" }), TypeError);
});

test("a binary answer is read in place", () => {
  const head = new TextEncoder().encode(JSON.stringify({ k: 2, arrays: [["a", "i4", 3], ["b", "f8", 1]] }));
  const start = Math.ceil((4 + head.length) / 8) * 8;
  const buffer = new ArrayBuffer(start + 16 + 8);
  new DataView(buffer).setUint32(0, head.length, true);
  new Uint8Array(buffer).set(head, 4);
  new Int32Array(buffer, start, 3).set([4, 5, 6]);
  new Float64Array(buffer, start + 16, 1).set([0.5]);
  const answer = openAnswer(buffer);
  assert.equal(answer.head.k, 2);
  assert.deepEqual([...answer.arrays.a, ...answer.arrays.b], [4, 5, 6, 0.5]);
});

test("a small ball is passed over, and a larger one comes later", () => {
  // In d = 1 a coincident pair, of loss -8, comes before the triple {-1.9, 0, 1.9}.
  const X = [10, 10, -1.9, 0, 1.9];
  const pairs = [];
  X.forEach((a, i) => X.forEach((b, j) => j > i && (a - b) ** 2 < 4 && pairs.push([i, j, (a - b) ** 2])));
  const graph = pairOf(5, pairs);
  const settings = { sigma: 1, d: 1, G: 4 };
  const all = findClusters(graph, settings);
  assert.deepEqual(all.map((cluster) => [...cluster.rows]), [[0, 1], [2, 3, 4]]);
  assert.equal(all[0].loss, -8);
  const large = findClusters(graph, { ...settings, minSize: 3 });
  assert.deepEqual(large.map((cluster) => cluster.center), [3]);
  assert.deepEqual(findClusters(graph, { ...settings, maxClusters: 1 }).length, 1);
  assert.deepEqual([...labelsOf(5, replay(graph, [0, 3], 4))], [0, 0, 1, 1, 1]);
});

test("sums that could be rounded are refused", () => {
  assert.ok(inRange(2 ** 20, 4));
  assert.ok(!inRange(2 ** 21, 4));
  const weights = Int32Array.of(2 ** 21, 1);
  assert.throws(() => findClusters(pairOf(2, [[0, 1, 1]]), { sigma: 1, d: 1, G: 4, weights }), RangeError);
});

test("colours stay with the cluster that keeps most rows", () => {
  const before = Int32Array.of(0, 0, 0, 1, 1, -1);
  assert.deepEqual(follow(before, [4, 7], [{ rows: [3, 4] }, { rows: [0, 1] }, { rows: [5] }]), [7, 4, 0]);
  assert.deepEqual(follow(before, [0, 1], [{ rows: [0] }, { rows: [1, 2] }]), [1, 0]);
});

test("colours are six digits, written out or not", () => {
  assert.deepEqual(rgb("#fff"), [255, 255, 255]);
  assert.deepEqual(rgb("#0072b2"), [0, 114, 178]);
  assert.throws(() => rgb("white"));
  assert.equal(new Set([...LIGHT, ...DARK]).size, 14);
});

test("numbers read as the command line writes them", () => {
  assert.deepEqual(
    [0.99712, -478.3, 0.01234, 123456, 2e9, Infinity, 9.996].map(number),
    ["0.997", "−478", "0.0123", "123,456", "2.00e+9", "–", "10.0"],
  );
  assert.deepEqual([0, 3.21e-9, 0.00204, NaN, null].map(chance), ["<1e-16", "3e-9", "0.002", "–", "–"]);
  assert.deepEqual([count(1, "row"), count(2000, "row")], ["1 row", "2,000 rows"]);
});

test("ticks are round, inside and apart", () => {
  const found = ticks(0.3, 12, 600);
  assert.ok(found.length >= 4 && found[0] >= 0.3 && found.at(-1) <= 12);
  for (let i = 1; i < found.length; i++) {
    assert.ok((600 * Math.log(found[i] / found[i - 1])) / Math.log(40) >= 69);
  }
  assert.equal(nearest([1, 2, 4], 2.7), 1);
  assert.equal(nearest([1, 2, 4], 3), 2);
});

test("a lasso holds what is inside it", () => {
  const square = [[0, 0], [4, 0], [4, 4], [0, 4]];
  assert.ok(inside(square, 1, 3));
  assert.ok(!inside(square, 5, 3));
});

test("pixels blend towards the colour and stay in the picture", () => {
  const pixels = new Uint32Array(9).fill(pack([255, 255, 255]));
  blend(pixels, 3, 3, 0, 0, disc(2, 1), [0, 0, 0]);
  assert.equal(pixels[0], pack([0, 0, 0]));
  assert.equal(pixels[8], pack([255, 255, 255]));
});
