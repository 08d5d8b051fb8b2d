import type { RunHandle, RunSnapshot, TaskCreated, TaskSnapshot, TaskStatus } from "../../src/index.ts";
import { foretell, verdictOver } from "./dag-plan.ts";
import type { Foretold, NodeScript } from "./dag-plan.ts";
import type { DagWorld, Plan } from "./dag-world.ts";
import { DispatchAudit } from "./dispatch-audit.ts";
import type { Claim, Limits } from "./dispatch-audit.ts";
import { brokenStory } from "./rules.ts";
import { RunAudit } from "./run-audit.ts";

/** Looks at every run of a world whenever it is at rest, and once more at its end. */
export class DagAudit {
  readonly wrong: string[] = [];
  readonly #world: DagWorld;
  readonly #runs: readonly RunAudit[];
  readonly #dispatches: DispatchAudit;
  readonly #claims = new Map<string, Claim>();
  #read = 0;

  constructor(world: DagWorld, limits: Limits) {
    this.#world = world;
    this.#runs = world.runs.map((handle, number) => {
      const { scripts, policy } = planOf(world, number);
      return new RunAudit(
        handle.id,
        scripts.map((script) => ({ ...script, hasCondition: script.condition !== "none", failsByItem: script.map?.failedItems === "fail" })),
        policy,
      );
    });
    this.#dispatches = new DispatchAudit(limits, (taskId) => this.#claims.get(taskId) ?? { priority: 0, tags: [] });
  }

  /** Nothing moves any more until time goes on: what was to be done is done. */
  rest(): void {
    const { events, clock } = this.#world;
    for (; this.#read < events.length; this.#read += 1) {
      const event = events[this.#read];
      if (event === undefined) continue;
      if (event.type === "TaskCreated") this.#claims.set(event.taskId, this.#claimOf(event));
      this.#dispatches.read(event);
      for (const run of this.#runs) run.read(event);
    }
    for (const run of this.#runs) this.wrong.push(...run.owed());
    this.wrong.push(...this.#dispatches.idleAt(clock.now()).map((taskId) => `task ${taskId} waits though it could begin`));
  }

  #claimOf({ node, pipelineRunId }: TaskCreated): Claim {
    const number = this.#world.runs.findIndex(({ id }) => id === pipelineRunId);
    const { scripts, priority } = planOf(this.#world, number);
    const script = scripts.find(({ name }) => name === node?.split("[")[0]);
    const isItem = node?.includes("[") === true;
    return { priority, runId: pipelineRunId, tags: script?.tags ?? [], isExempt: script?.map !== null && !isItem, isGated: isItem };
  }

  /** What is wrong with runs that have had all the time they need, and that somebody may have interfered with. */
  async ended(): Promise<readonly string[]> {
    this.rest();
    const traces = await auditTraces(this.#world, await look(this.#world));
    return [...this.#world.wrong, ...this.wrong, ...this.#runs.flatMap(({ wrong }) => wrong), ...this.#dispatches.wrong, ...traces];
  }

  /** The same where nobody has interfered: each node ends as was foretold. */
  async endedAsForetold(): Promise<readonly string[]> {
    const watched = await look(this.#world);
    return [...(await this.ended()), ...watched.flatMap((run) => auditEnds(this.#world, run))];
  }
}

function planOf(world: DagWorld, number: number): Plan {
  const plan = world.plans[number];
  if (plan === undefined) throw new Error(`no plan ${number}`);
  return plan;
}

interface Watched {
  readonly plan: Plan;
  readonly handle: RunHandle;
  readonly run: RunSnapshot;
  readonly number: number;
  readonly nodes: readonly TaskSnapshot[];
  /** Of its maps. */
  readonly items: readonly TaskSnapshot[];
}

async function look(world: DagWorld): Promise<readonly Watched[]> {
  return await Promise.all(
    world.runs.map(async (handle, number): Promise<Watched> => {
      const plan = planOf(world, number);
      const ids = handle.graph().map(({ taskId }) => taskId);
      const rowsOf = async (taskIds: readonly string[]) => await Promise.all(taskIds.map(async (taskId) => await world.controller.get(taskId)));
      const known = new Set(ids);
      const others = world.tasksOf(handle).filter((taskId) => !known.has(taskId));
      return { plan, handle, number, run: await handle.snapshot(), nodes: await rowsOf(ids), items: await rowsOf(others) };
    }),
  );
}

/** What the record says, step by step, and the sums. */
async function auditTraces(world: DagWorld, watched: readonly Watched[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const { plan, handle, run, nodes, items } of watched) {
    if (run.endedAt === null) wrong.push(`run ${run.name} stands still: it is ${run.status}, its nodes ${nodes.map(({ status }) => status).join(", ")}`);
    for (const node of [...nodes, ...items]) wrong.push(...brokenStory(node, await world.controller.history(node.taskId)));
    const open = items.filter(({ endedAt }) => endedAt === null);
    if (run.endedAt !== null && open.length > 0) wrong.push(`run ${run.name} has ended, and ${open.length} items have not`);
    const statuses = nodes.map(({ status }) => status);
    wrong.push(
      ...auditCounts(handle, statuses),
      ...(await auditStats(world, handle, [...statuses, ...items.map(({ status }) => status)])),
      ...auditChain(handle, plan.scripts, nodes),
    );
  }
  return wrong;
}

function auditEnds(world: DagWorld, { plan: { scripts, policy }, number, run, nodes }: Watched): readonly string[] {
  const told = foretell(scripts);
  const maps = new Set(scripts.flatMap(({ name, map }) => (map === null ? [] : [name])));
  const toldStatuses = [...told.values()].map(({ status }) => status);
  // Where a quorum is out of reach, what had failed by then is a matter of time.
  const isCertain = policy.kind !== "quorum" || toldStatuses.filter((status) => status === "succeeded").length >= policy.count;
  const verdict = verdictOver(toldStatuses, policy);
  const wrong = isCertain && run.status !== verdict ? [`run ${run.name} ended ${run.status} instead of ${verdict}`] : [];
  return [
    ...wrong,
    ...nodes.flatMap((node) =>
      auditNode(node, {
        ran: world.bodiesOf(number, node.node ?? ""),
        isMap: maps.has(node.node ?? ""),
        foretold: told.get(node.node ?? ""),
        canBeCut: policy.kind !== "allSettled",
      }),
    ),
  ];
}

interface Expectation {
  /** So many bodies were called. */
  readonly ran: number;
  readonly isMap: boolean;
  readonly foretold: Foretold | undefined;
  /** The policy may have cancelled it before its time. */
  readonly canBeCut: boolean;
}

function auditNode(node: TaskSnapshot, { ran, isMap, foretold, canBeCut }: Expectation): readonly string[] {
  if (foretold === undefined) return [`node ${node.node} was not planned`];
  const { status, bodies, value, failure } = foretold;
  if (canBeCut && node.status === "cancelled" && node.failure?.kind !== "dependency_failed") {
    return ran <= Math.max(bodies, 0) ? [] : [`${node.node} was cancelled after ${ran} bodies, of ${bodies}`];
  }
  // Cut short, a map ends by the items that had failed until then.
  if (canBeCut && isMap && node.status === "failed" && status === "failed")
    return ran <= bodies ? [] : [`${node.node} failed after ${ran} bodies, of ${bodies}`];
  const wrong: string[] = [];
  const is = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) wrong.push(`${node.node}: ${what} is ${String(found)} instead of ${String(expected)}`);
  };
  is("its status", node.status, status);
  is("the number of its bodies", ran, bodies);
  const outcome: unknown = Array.isArray(node.outcome) ? node.outcome.map((each) => (typeof each === "number" ? each : 0)) : node.outcome;
  is("its value", JSON.stringify(outcome), JSON.stringify(value));
  is("the kind of its failure", node.failure?.kind ?? null, failure);
  return wrong;
}

function auditCounts(handle: RunHandle, statuses: readonly TaskStatus[]): readonly string[] {
  const { counts, total } = handle.summary();
  const counted = countOf(statuses);
  const differs = Object.entries(counts).some(([status, count]) => count !== (counted.get(status) ?? 0));
  return differs || total !== statuses.length ? [`the summary of ${handle.name} counts ${JSON.stringify(counts)} of ${total}`] : [];
}

async function auditStats(world: DagWorld, handle: RunHandle, statuses: readonly TaskStatus[]): Promise<readonly string[]> {
  const stats = await world.controller.stats({ pipelineRunId: handle.id });
  const counted = countOf(statuses);
  return Object.entries(stats).some(([status, count]) => count !== (counted.get(status) ?? 0))
    ? [`the stats of ${handle.name} are ${JSON.stringify(stats)}`]
    : [];
}

function countOf(statuses: readonly TaskStatus[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  for (const status of statuses) counted.set(status, (counted.get(status) ?? 0) + 1);
  return counted;
}

/** The first failure is one of the earliest, and what it brought down lies below it and says so. */
function auditChain(handle: RunHandle, scripts: readonly NodeScript[], nodes: readonly TaskSnapshot[]): readonly string[] {
  const { firstFailure } = handle.summary();
  const failed = nodes.filter(({ status }) => status === "failed" || status === "lost");
  if (firstFailure === null) return failed.length === 0 ? [] : [`the summary of ${handle.name} knows of no failure`];
  const first = failed.find(({ taskId }) => taskId === firstFailure.taskId);
  if (first === undefined) return [`the first failure of ${handle.name} has not failed`];
  if (failed.some(({ endedAt }) => (endedAt ?? 0) < (first.endedAt ?? 0))) return [`the first failure of ${handle.name} is not the first`];
  const below = namesBelow(scripts, firstFailure.node);
  const affected = nodes.filter((node) => below.has(node.node ?? "") && node.failure?.kind === "dependency_failed").map((node) => node.node ?? "");
  const isSame = affected.toSorted().join() === firstFailure.affected.toSorted().join();
  return isSame ? [] : [`the first failure of ${handle.name} brought down ${affected.join()}, not ${firstFailure.affected.join()}`];
}

function namesBelow(scripts: readonly NodeScript[], name: string): ReadonlySet<string> {
  const below = new Map<string, string[]>();
  for (const script of scripts) for (const dep of script.deps) below.set(dep, [...(below.get(dep) ?? []), script.name]);
  const reached = new Set<string>();
  const queue = [name];
  for (const each of queue) {
    for (const next of below.get(each) ?? []) {
      if (reached.has(next)) continue;
      reached.add(next);
      queue.push(next);
    }
  }
  return reached;
}
