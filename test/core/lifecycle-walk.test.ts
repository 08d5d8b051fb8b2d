import { describe, expect, it } from "vitest";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { validateSnapshot } from "../../src/core/snapshot-rules.ts";
import type { TaskSnapshot } from "../../src/core/snapshot.ts";
import { apply } from "../../src/core/state-machine.ts";
import { EVENT_NAMES } from "./any-lifecycle-event.ts";
import { ENDED, EXPECTED_EDGES } from "./expected-transitions.ts";
import { abandoned, boom, deepFreeze, dispatch, gone, halted, launched, newTask } from "./task-at.ts";

const MOST_ATTEMPTS = 3;
const by = { actor: "ada", reason: "by hand" };

/** Every event there is, in every variant that the state machine tells apart. */
const EVENTS: readonly LifecycleEvent[] = [
  { type: "start", depsOpen: false },
  { type: "start", depsOpen: true },
  { type: "stop" },
  { type: "pause" },
  { type: "resume" },
  { type: "cancel" },
  { type: "retry" },
  { type: "retry", force: true },
  { type: "skip" },
  { type: "skip", outcome: { value: 1 } },
  { type: "reset" },
  { type: "reset", force: true },
  { type: "enqueue" },
  { type: "block" },
  { type: "backoffElapsed" },
  dispatch,
  { type: "conditionFalse", failure: boom },
  { type: "dependencyFailed", to: "cancelled", failure: boom },
  { type: "dependencyFailed", to: "skipped", failure: boom },
  { type: "unrunnable", failure: boom },
  launched,
  { type: "succeeded", outcome: 1 },
  { type: "failed", failure: boom, retryAt: null },
  { type: "failed", failure: boom, retryAt: 5_000 },
  { type: "ended", failure: halted },
  { type: "lost", failure: gone },
  { type: "lost", failure: abandoned },
  { type: "pauseReached" },
  { type: "pauseTimedOut" },
  { type: "retryLost" },
  { type: "retryLost", force: true },
  { type: "requeue" },
  { type: "requeue", force: true },
  { type: "rerun" },
  { type: "rerun", force: true },
  ...(["pending", "queued", "succeeded", "failed", "stopped", "cancelled", "skipped", "lost"] as const).flatMap((to): LifecycleEvent[] => [
    { type: "force", to, ...by },
    { type: "force", to, force: true, ...by },
  ]),
];

/** What tells two reachable states apart: the four dimensions of a status, and the two that guards ask for. */
function keyOf(task: TaskSnapshot): string {
  return [task.status, task.requestedAction, task.pausedFrom, task.attempt, task.maxAttempts - task.attempt, task.abandonedBy !== null].join("|");
}

interface Walk {
  readonly states: ReadonlyMap<string, TaskSnapshot>;
  readonly edges: ReadonlySet<string>;
  readonly revivals: ReadonlySet<string>;
  readonly accepted: ReadonlySet<string>;
}

function walk(first: TaskSnapshot): Walk {
  const states = new Map([[keyOf(first), first]]);
  const edges = new Set<string>();
  const revivals = new Set<string>();
  const accepted = new Set<string>();
  const queue = [first];
  for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
    for (const event of EVENTS) {
      const result = apply(task, event, 1_000);
      if (!result.ok) continue;
      accepted.add(event.type);
      for (const step of result.transitions) {
        if (step.kind === "transition") edges.add(`${step.from} → ${step.to}`);
        if (step.kind === "revive") revivals.add(`${event.type}: ${step.from} → ${step.to}`);
      }
      const next = deepFreeze(result.snapshot);
      if (next.attempt > MOST_ATTEMPTS || states.has(keyOf(next))) continue;
      states.set(keyOf(next), next);
      queue.push(next);
    }
  }
  return { states, edges, revivals, accepted };
}

const { states, edges, revivals, accepted } = walk(newTask({ maxAttempts: 2 }));

describe("all states that can be reached from a new task", () => {
  it("are reached by each row of the transition table, and by none outside it", () => {
    expect([...edges].toSorted()).toEqual([...EXPECTED_EDGES].toSorted());
  });

  it("combine status, wish and the place of a pause in these ways alone", () => {
    const combinations = new Set([...states.values()].map((task) => [task.status, task.requestedAction, task.pausedFrom].join(" ").trim()));
    expect([...combinations].toSorted()).toEqual([
      "blocked",
      "cancelled",
      "failed",
      "lost",
      "paused  queued",
      "paused  retry_wait",
      "paused  running",
      "pausing pause running",
      "pausing pause starting",
      "pending",
      "queued",
      "retry_wait",
      "running",
      "skipped",
      "starting",
      "stopped",
      "stopping cancel",
      "stopping stop",
      "succeeded",
    ]);
  });

  it("are reached with 0 to 3 attempts begun, and never more than the budget", () => {
    const attempts = new Set([...states.values()].map((task) => task.attempt));
    expect(attempts).toEqual(new Set([0, 1, 2, 3]));
    expect([...states.values()].filter((task) => task.attempt > task.maxAttempts)).toEqual([]);
  });

  it("agree in all their dimensions", () => {
    expect([...states.values()].filter((task) => validateSnapshot(task).length > 0)).toEqual([]);
  });

  it("accept each event somewhere", () => {
    expect([...accepted].toSorted()).toEqual([...EVENT_NAMES].toSorted());
  });

  it("leave a terminal status by a revive operation in these ways alone", () => {
    const endings = [...ENDED];
    const expected = [
      ...["failed", "stopped", "cancelled", "lost"].map((from) => `retry: ${from} → queued`),
      "skip: failed → skipped",
      "retryLost: lost → queued",
      "requeue: lost → queued",
      ...endings.map((from) => `rerun: ${from} → pending`),
      ...["blocked", "queued", "paused", "retry_wait", ...endings].map((from) => `reset: ${from} → pending`),
    ];
    expect([...revivals].toSorted()).toEqual(expected.toSorted());
  });
});
