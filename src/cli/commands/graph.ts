import { planRun } from "../../api/plan-run.ts";
import { checkInput } from "../../api/check-input.ts";
import { Registry } from "../../api/registry.ts";
import { ConfigurationError, TaskError } from "../../core/errors.ts";
import { checkOneOf } from "../../core/options.ts";
import { unreachable } from "../../core/unreachable.ts";
import { findTarget, loadCatalogue } from "../catalogue.ts";
import type { Catalogue } from "../catalogue.ts";
import { buildFailed } from "../job.ts";
import { drawDot } from "../output/graph-dot.ts";
import { drawMermaid } from "../output/graph-mermaid.ts";
import { drawGraphText } from "../output/graph-text.ts";
import { toJson } from "../output/json-text.ts";
import type { DrawnGraph } from "../output/drawn-graph.ts";
import { readArguments } from "../run-arguments.ts";
import type { ArgumentFlags } from "../run-arguments.ts";
import { refuseFormat } from "../settings.ts";
import type { Settings } from "../settings.ts";

/** The options of `graph`, as the parser gives them. */
export interface GraphFlags extends ArgumentFlags {
  readonly format?: string;
}

/** Draws the graph that a pipeline has for these arguments. Nothing is run but its build. */
export async function graph(settings: Settings, name: string, flags: GraphFlags): Promise<number> {
  refuseFormat(settings.format, ["table", "wide", "json", "jsonl"], "graph");
  const format = checkOneOf(flags.format ?? "text", ["text", "mermaid", "dot"], "--format");
  const isJson = settings.format === "json" || settings.format === "jsonl";
  if (isJson && flags.format !== undefined) throw new ConfigurationError("--format and --json exclude each other. Give one of them.");
  const drawn = await readGraph(await loadCatalogue(settings), name, readArguments(flags));
  const { stdout } = settings.host;
  stdout.write(isJson ? `${toJson(drawn)}\n` : draw(drawn, format, stdout.isTTY === true ? (stdout.columns ?? 80) : undefined));
  return 0;
}

async function readGraph(catalogue: Catalogue, name: string, args: readonly unknown[]): Promise<DrawnGraph> {
  const target = findTarget(catalogue, name);
  if (target.kind === "task") throw new ConfigurationError(`${JSON.stringify(name)} is a task: only a pipeline has a graph.`);
  const { pipeline } = target;
  const registry = new Registry(catalogue.tasks, catalogue.pipelines);
  const checked = await checkInput(name, pipeline.options.input, args);
  try {
    const plan = planRun(pipeline, checked, { priority: 0, use: (task) => registry.use(task) });
    return {
      name,
      aggregation: plan.aggregation,
      edgeCount: plan.graph.edgeCount,
      nodes: plan.graph.nodes.map((node, index) => {
        const { definition, map } = plan.nodes[index] ?? {};
        return { ...node, task: definition?.name ?? node.name, ...(map === undefined ? {} : { map }) };
      }),
    };
  } catch (error) {
    throw error instanceof TaskError ? error : buildFailed(name, args, error);
  }
}

function draw(drawn: DrawnGraph, format: "text" | "mermaid" | "dot", width: number | undefined): string {
  switch (format) {
    case "text":
      return drawGraphText(drawn, width);
    case "mermaid":
      return drawMermaid(drawn);
    case "dot":
      return drawDot(drawn);
    default:
      return unreachable(format);
  }
}
