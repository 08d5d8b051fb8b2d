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
const LONG = sized(20_000, 400);
const MAX_PARALLEL = 10;

const noop = task({ name: "noop" }, async () => {});
const noopItem = task({ name: "noop-item" }, async (_ctx, _item: number) => {});

interface Measured {
  readonly us: number;
  readonly heapBytes: number;
}

/** A small run goes first, untimed: a collection shrinks the young heap, which then has to grow again. */
async function runTimed(timed: Pipeline<string, []>, size: number): Promise<Measured> {
  const pipelines = [pipelineOf("first", graphs.random), timed] as const;
  const controller = await Controller.open({ tasks: [noop], pipelines, concurrency: { maxParallel: MAX_PARALLEL } });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await runOnce(controller, pipelines[0]);
  const ms = await elapsedMs(async () => await runOnce(controller, pipelines[1]));
  collectGarbage();
  const nodes = graphs.random.length + size;
  const heapBytes = (process.memoryUsage().heapUsed - before) / nodes;
  const { succeeded } = await controller.stats();
  await controller.close();
  if (succeeded !== nodes) throw new Error(`${nodes} nodes were to succeed, and ${succeeded} did.`);
  return { us: (ms * 1_000) / size, heapBytes };
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

/** One node that runs its task once for each of that many items. */
function mapOf(name: string, items: number): Pipeline<string, []> {
  return definePipeline(name, {}, (p) => void p.map(noopItem, { items: Array.from({ length: items }, (_, index) => index) }));
}

function nodeAt(nodes: readonly AnyNode[], index: number): AnyNode {
  const node = nodes[index];
  if (node === undefined) throw new Error(`there is no node ${index} yet.`);
  return node;
}

/** Nodes that depend on nothing but the first. */
function fan(nodes: number): DependencyLists {
  return Array.from({ length: nodes }, (_, node) => (node === 0 ? [] : [0]));
}

const graphs = { random: randomGraph(SMALL), large: randomGraph(LARGE), chain: chain(LONG), fan: fan(SMALL) };
type Kind = keyof typeof graphs | "map" | "largeMap";
const heaps: Record<Kind, number[]> = { random: [], large: [], chain: [], fan: [], map: [], largeMap: [] };

async function measure(kind: Kind): Promise<number> {
  const { us, heapBytes } = await timed(kind);
  heaps[kind].push(heapBytes);
  return us;
}

async function timed(kind: Kind): Promise<Measured> {
  // The node of the map is one, too.
  if (kind === "map") return await runTimed(mapOf("timed", SMALL), SMALL + 1);
  if (kind === "largeMap") return await runTimed(mapOf("timed", LARGE), LARGE + 1);
  return await runTimed(pipelineOf("timed", graphs[kind]), graphs[kind].length);
}

const kinds = ["random", "chain", "fan", "map", "large", "largeMap"] as const satisfies readonly Kind[];
const figures = await alternate(
  kinds.map((name) => ({ name, measure: async () => await measure(name) })),
  { rounds: Math.min(ROUNDS, 3) },
);

const target = { atMost: 40 };
const details = { maxParallel: MAX_PARALLEL };
const linear = { atMost: 1.3 };
const bench = "dag";
report({ bench, metric: `random graph, ${SMALL} nodes`, unit: "µs/node", samples: figures.random, target, details });
report({ bench, metric: `chain, ${LONG} nodes`, unit: "µs/node", samples: figures.chain, target, details });
report({ bench, metric: `fan-out of ${SMALL} nodes`, unit: "µs/node", samples: figures.fan, target, details });
report({ bench, metric: `map of ${SMALL} items`, unit: "µs/item", samples: figures.map, target, details });
report({ bench, metric: `random graph, ${LARGE} nodes`, unit: "µs/node", samples: figures.large, details });
report({ bench, metric: `map of ${LARGE} items`, unit: "µs/item", samples: figures.largeMap, details });
report({ bench, metric: `a node of ${LARGE} / of ${SMALL}`, unit: "ratio", samples: ratios(figures.large, figures.random), target: linear });
report({ bench, metric: `an item of ${LARGE} / of ${SMALL}`, unit: "ratio", samples: ratios(figures.largeMap, figures.map), target: linear });
for (const kind of kinds) report({ bench, metric: `heap after the run: ${kind}`, unit: "bytes/node", samples: heaps[kind] });
