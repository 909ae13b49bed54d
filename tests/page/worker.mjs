// Reads one JSON object per line, runs the page's loop on it, writes the clusters as JSON.
import { createInterface } from "node:readline";
import { findClusters, labelsOf, makeGraph, replay } from "../../src/crlm/page/greedy.js";
import { unpack } from "../../src/crlm/page/codec.js";

const weightsOf = (weights) => (weights ? Int32Array.from(weights) : null);

const calls = {
  find({ n, graph, weights, ...settings }) {
    const made = makeGraph({
      n,
      indptr: unpack(graph.indptr),
      indices: unpack(graph.indices),
      reach: unpack(graph.reach),
    });
    const found = findClusters(made, { ...settings, weights: weightsOf(weights) });
    return {
      labels: [...labelsOf(n, found)],
      centers: found.map((cluster) => cluster.center),
      sizes: found.map((cluster) => cluster.size),
      losses: found.map((cluster) => cluster.loss),
    };
  },
  replay({ n, graph, steps }) {
    const made = makeGraph({
      n,
      indptr: unpack(graph.indptr),
      indices: unpack(graph.indices),
      reach: unpack(graph.reach),
    });
    return steps.map((step, s) => [...labelsOf(n, replay(made, step.centers, s + 1))]);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...given } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(calls[call](given))}\n`);
}
