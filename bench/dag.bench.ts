import { Controller, definePipeline, task } from "../src/index.ts";
import type { AnyNode, Pipeline } from "../src/index.ts";
import { alternate } from "./lib/alternate.ts";
import { collectGarbage } from "./lib/collect-garbage.ts";
import { elapsedMs } from "./lib/elapsed.ts";
import { ROUNDS, sized } from "./lib/mode.ts";
import { chain, randomGraph } from "./lib/random-graph.ts";
import type { DependencyLists } from "./lib/random-graph.ts";
import { ratios, report } from "./lib/report.ts";

// A whole run, from building the graph to its stored end: no-op nodes, memory store, every step in the audit.
const SMALL = sized(10_000, 200);
const LARGE = sized(100_000, 1_000);
const MAX_PARALLEL = 10;

const noop = task({ name: "noop" }, async () => {});

interface Measured {
  readonly us: number;
  readonly heapBytes: number;
}

/** A small run goes first, untimed: a collection shrinks the young heap, which then has to grow again. */
async function runGraph(graph: DependencyLists): Promise<Measured> {
  const pipelines = [pipelineOf("first", graphs.random), pipelineOf("timed", graph)] as const;
  const controller = await Controller.open({ tasks: [noop], pipelines, concurrency: { maxParallel: MAX_PARALLEL } });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await runOnce(controller, pipelines[0]);
  const ms = await elapsedMs(async () => await runOnce(controller, pipelines[1]));
  collectGarbage();
  const nodes = graphs.random.length + graph.length;
  const heapBytes = (process.memoryUsage().heapUsed - before) / nodes;
  const { succeeded } = await controller.stats();
  await controller.close();
  if (succeeded !== nodes) throw new Error(`${nodes} nodes were to succeed, and ${succeeded} did.`);
  return { us: (ms * 1_000) / graph.length, heapBytes };
}

async function runOnce(controller: Controller, pipeline: Pipeline<string, []>): Promise<void> {
  const run = await controller.startRun(pipeline);
  const { status } = await run.wait({ timeout: "none" });
  if (status !== "succeeded") throw new Error(`the run was to succeed, and it ended ${status}.`);
}

function pipelineOf(name: string, graph: DependencyLists): Pipeline<string, []> {
  return definePipeline(name, {}, (p) => {
    const nodes: AnyNode[] = [];
    for (const [index, above] of graph.entries()) {
      nodes.push(p.add(noop, { name: `n${index}`, deps: above.map((node) => nodeAt(nodes, node)) }));
    }
  });
}

function nodeAt(nodes: readonly AnyNode[], index: number): AnyNode {
  const node = nodes[index];
  if (node === undefined) throw new Error(`there is no node ${index} yet.`);
  return node;
}

const graphs = { random: randomGraph(SMALL), chain: chain(SMALL), large: randomGraph(LARGE) };
const heaps: Record<keyof typeof graphs, number[]> = { random: [], chain: [], large: [] };

async function measure(name: keyof typeof graphs): Promise<number> {
  const { us, heapBytes } = await runGraph(graphs[name]);
  heaps[name].push(heapBytes);
  return us;
}

const figures = await alternate(
  [
    { name: "random", measure: async () => await measure("random") },
    { name: "chain", measure: async () => await measure("chain") },
    { name: "large", measure: async () => await measure("large") },
  ],
  { rounds: Math.min(ROUNDS, 3) },
);

const target = { atMost: 40 };
report({ bench: "dag", metric: `random graph, ${SMALL} nodes`, unit: "µs/node", samples: figures.random, target, details: { maxParallel: MAX_PARALLEL } });
report({ bench: "dag", metric: `chain, ${SMALL} nodes`, unit: "µs/node", samples: figures.chain, target, details: { maxParallel: MAX_PARALLEL } });
report({ bench: "dag", metric: `random graph, ${LARGE} nodes`, unit: "µs/node", samples: figures.large, details: { maxParallel: MAX_PARALLEL } });
report({ bench: "dag", metric: `a node of ${LARGE} / of ${SMALL}`, unit: "ratio", samples: ratios(figures.large, figures.random), target: { atMost: 1.3 } });
report({ bench: "dag", metric: `heap after the run, ${SMALL} nodes`, unit: "bytes/node", samples: heaps.random });
report({ bench: "dag", metric: `heap after the run, ${LARGE} nodes`, unit: "bytes/node", samples: heaps.large });
