import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { holdsSlot, validateSnapshot } from "../../src/core/snapshot-rules.ts";
import type { TaskSnapshot } from "../../src/core/snapshot.ts";
import { apply } from "../../src/core/state-machine.ts";
import type { Applied, Refused } from "../../src/core/state-machine.ts";
import { EVENT_NAMES, anyLifecycleEvent } from "./any-lifecycle-event.ts";
import { ENDED, EXPECTED_TRANSITIONS, SLOT_HOLDERS } from "./expected-transitions.ts";
import { deepFreeze, newTask } from "./task-at.ts";

const RUNS = 3_000;
const LONGEST = 60;
const REVIVERS: ReadonlySet<string> = new Set(["retry", "skip", "reset", "rerun", "retryLost", "requeue"]);

/** One step of a walk: what was there, what happened, what came of it. */
interface Step {
  readonly before: TaskSnapshot;
  readonly event: LifecycleEvent;
  readonly applied: Applied;
}

/** A fact that has to hold of every accepted event. */
type Invariant = (step: Step) => boolean;

function occupied(task: TaskSnapshot): boolean {
  return SLOT_HOLDERS.has(task.status) || (task.status === "paused" && (task.pausedFrom === "running" || task.pausedFrom === "starting"));
}

const INVARIANTS: Readonly<Record<string, Invariant>> = {
  "a terminal status is left by revive operations and force alone": ({ before, event, applied }) =>
    !ENDED.has(before.status) || (applied.transitions.length === 1 && (REVIVERS.has(event.type) || event.type === "force")),
  "what is no step of the table is marked as such": ({ event, applied }) =>
    applied.transitions.every((step) => (step.kind === "override") === (event.type === "force") && (step.kind !== "revive" || REVIVERS.has(event.type))),
  "each step of kind transition is in the table": ({ applied }) =>
    applied.transitions.every((step) => step.kind !== "transition" || EXPECTED_TRANSITIONS[step.from].includes(step.to)),
  "steps chain from the status before to the status after": ({ before, applied }) => {
    const chain = [before.status, ...applied.transitions.map((step) => step.to)];
    return applied.transitions.every((step, index) => step.from === chain[index]) && chain.at(-1) === applied.snapshot.status;
  },
  "the version rises by one per step": ({ before, applied }) =>
    applied.snapshot.statusVersion === before.statusVersion + applied.transitions.length &&
    applied.transitions.every((step, index) => step.statusVersion === before.statusVersion + index + 1),
  "running has a start time": ({ applied }) =>
    (applied.snapshot.status !== "running" || applied.snapshot.startedAt !== null) &&
    applied.transitions.every((step) => step.to !== "running" || applied.snapshot.startedAt !== null),
  "attempts only grow within an epoch, one at a time": ({ before, event, applied: { snapshot } }) =>
    event.type === "reset"
      ? snapshot.epoch === before.epoch + 1 && snapshot.attempt === 0
      : snapshot.epoch === before.epoch && snapshot.attempt === before.attempt + (event.type === "dispatch" ? 1 : 0),
  "a slot is held by status alone": ({ applied: { snapshot } }) => holdsSlot(snapshot) === occupied(snapshot),
  "only dispatch takes a slot": ({ before, event, applied: { snapshot } }) => occupied(before) || !occupied(snapshot) || event.type === "dispatch",
  "the fencing token rises with each attempt and each force, and only then": ({ before, event, applied: { snapshot } }) =>
    snapshot.fencingToken === before.fencingToken + (event.type === "dispatch" || event.type === "force" ? 1 : 0),
  "the dimensions agree": ({ applied: { snapshot } }) => validateSnapshot(snapshot).length === 0,
  "who skipped it is known of a skipped task alone": ({ applied: { snapshot } }) => snapshot.skippedBy === null || snapshot.status === "skipped",
  "only a task that ended has an outcome": ({ applied: { snapshot } }) =>
    ENDED.has(snapshot.status) || (snapshot.outcome === undefined && snapshot.partialOutcome === undefined),
  "an orphan is never forgotten": ({ before, applied: { snapshot } }) => before.abandonedBy === null || snapshot.abandonedBy !== null,
  "what a task is stays": ({ before, applied: { snapshot } }) =>
    snapshot.taskId === before.taskId &&
    snapshot.createdAt === before.createdAt &&
    snapshot.attemptBudget === before.attemptBudget &&
    snapshot.tags === before.tags,
};

/** Follows the attempt records of a walk: each is opened once, closed once, and open exactly while a slot is held. */
class AttemptLedger {
  #open: string | null = null;
  readonly #opened = new Set<string>();

  follow({ before, event, applied: { attempt, snapshot } }: Step): boolean {
    if (attempt !== null) {
      const key = `${attempt.epoch}/${attempt.attempt}`;
      if (attempt.endedAt === null && event.type === "launched") {
        if (this.#open !== key || attempt.pid !== snapshot.pid || attempt.pid === before.pid) return false;
      } else if (attempt.endedAt === null) {
        if (this.#open !== null || this.#opened.has(key)) return false;
        this.#open = key;
        this.#opened.add(key);
      } else {
        if (this.#open !== key || attempt.endedAs !== snapshot.status || attempt.owner !== before.owner || (attempt.durationMs ?? -1) < 0) return false;
        this.#open = null;
      }
    }
    return (this.#open !== null) === occupied(snapshot);
  }
}

function brokenBy(step: Step, ledger: AttemptLedger): readonly string[] {
  const broken = Object.keys(INVARIANTS).filter((name) => INVARIANTS[name]?.(step) !== true);
  return ledger.follow(step) ? broken : [...broken, "an attempt record is opened once, closed once, and open while a slot is held"];
}

function changedBy(before: TaskSnapshot, copy: TaskSnapshot, refused: Refused): boolean {
  return !isDeepStrictEqual(before, copy) || Object.keys(refused).join() !== "ok,error" || refused.error.message === "";
}

const anyWalk = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  events: fc.array(fc.tuple(anyLifecycleEvent, fc.integer({ min: -50, max: 1_000 })), { minLength: LONGEST / 2, maxLength: LONGEST, size: "max" }),
});

describe("random sequences of events", () => {
  it("never break an invariant, and a refused event changes nothing at all", () => {
    const accepted = new Map<string, number>(EVENT_NAMES.map((name) => [name, 0]));
    const refusals = new Map<string, number>(EVENT_NAMES.map((name) => [name, 0]));
    fc.assert(
      fc.property(anyWalk, ({ maxAttempts, events }) => {
        const ledger = new AttemptLedger();
        let task = newTask({ maxAttempts });
        let nowMs = 10_000;
        for (const [event, elapsedMs] of events) {
          nowMs += elapsedMs;
          const copy = { ...task };
          const result = apply(task, deepFreeze(event), nowMs);
          if (!result.ok) {
            refusals.set(event.type, (refusals.get(event.type) ?? 0) + 1);
            if (changedBy(task, copy, result)) throw new Error(`refused, yet changed: ${JSON.stringify({ task, event })}`);
            continue;
          }
          accepted.set(event.type, (accepted.get(event.type) ?? 0) + 1);
          const broken = brokenBy({ before: task, event, applied: result }, ledger);
          if (broken.length > 0) throw new Error(`${broken.join("; ")}: ${JSON.stringify({ before: task, event, after: result.snapshot })}`);
          task = deepFreeze(result.snapshot);
        }
      }),
      { numRuns: RUNS },
    );
    // A property that never got anywhere would prove nothing.
    expect([...accepted].filter(([, count]) => count === 0)).toEqual([]);
    expect([...refusals].filter(([name, count]) => count === 0 && name !== "force")).toEqual([]);
  });
});
