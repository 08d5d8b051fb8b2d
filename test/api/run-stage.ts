import { task } from "../../src/index.ts";
import type { PipelineRunStatusChanged, RunHandle, TaskContext, TaskStatus } from "../../src/index.ts";
import type { Puppet } from "../runtime/support/puppet.ts";

/** Gives one. */
export const tick = task({ name: "tick" }, () => 1);

/** A body on the strings of the test, deaf to all else. */
export function deaf(puppet: Puppet) {
  return task({ name: "deaf" }, async (ctx: TaskContext) => await puppet.run(ctx));
}

export const idOf = (run: RunHandle, name: string): string => {
  const node = run.graph().find((each) => each.name === name);
  if (node === undefined) throw new Error(`no node ${name}`);
  return node.taskId;
};

/** The status of each node, as stored. */
export const statuses = (run: RunHandle): Readonly<Record<string, TaskStatus>> => Object.fromEntries(run.graph().map(({ name, status }) => [name, status]));

/** What the run has gone through: `from → to (trigger) by actor`. */
export async function runSteps(run: RunHandle): Promise<readonly string[]> {
  const steps: string[] = [];
  const stop = new AbortController();
  const { version } = await run.snapshot();
  for await (const event of run.events({ types: ["PipelineRunStatusChanged"], signal: stop.signal })) {
    const { from, to, trigger, actor, version: at } = event as PipelineRunStatusChanged;
    steps.push(`${from} → ${to} (${trigger}) by ${actor}`);
    if (at === version) break;
  }
  return steps;
}
