import fc from "fast-check";
import { createFailure } from "../../src/core/failure.ts";
import type { Failure } from "../../src/core/failure.ts";
import { TRIGGERS } from "../../src/core/lifecycle-events.ts";
import type { By, GivenOutcome, LifecycleEvent, LifecycleEventType } from "../../src/core/lifecycle-events.ts";
import { TASK_STATUSES } from "../../src/core/status.ts";

const failure: fc.Arbitrary<Failure> = fc.constantFrom(
  createFailure({ kind: "exception", message: "boom" }),
  createFailure({ kind: "timeout_idle", message: "idle", forced: true, retryable: true }),
  createFailure({ kind: "lost", message: "abandoned", abandoned: true }),
);
const force = fc.constantFrom<{ readonly force?: boolean }>({}, { force: false }, { force: true });
const outcome = fc.constantFrom<{ readonly outcome?: GivenOutcome }>({}, { outcome: { value: 7 } }, { outcome: { value: undefined } });
const retryAt = fc.constantFrom(null, 0, 5_000);
const person = fc.constantFrom<By>(
  {},
  { actor: "ada", reason: "by hand" },
  { actor: "ada", reason: "by hand" },
  { actor: " ", reason: "" },
  { actor: "ada", reason: null, trigger: "pipeline:fail-fast", commandId: "c1" },
);

type PartsOf<T extends LifecycleEventType, E = LifecycleEvent> = E extends { readonly type: infer U }
  ? T extends U
    ? Omit<E, "type" | keyof By>
    : never
  : never;

/** What each event carries beside its type; a type that is added does not compile until it is here. */
const PARTS: { readonly [T in LifecycleEventType]: fc.Arbitrary<PartsOf<T>> } = {
  start: fc.record({ depsOpen: fc.boolean() }),
  stop: fc.constant({}),
  pause: fc.constant({}),
  resume: fc.constant({}),
  cancel: fc.constant({}),
  retry: force,
  skip: outcome,
  reset: force,
  enqueue: fc.constant({}),
  block: fc.constant({}),
  backoffElapsed: fc.constant({}),
  dispatch: fc.record({ owner: fc.constantFrom("n1:1", "n2:4"), executor: fc.constantFrom("async", "process") }),
  conditionFalse: fc.record({ failure }),
  dependencyFailed: fc.record({ to: fc.constantFrom("cancelled" as const, "skipped" as const), failure }),
  unrunnable: fc.record({ failure }),
  launched: fc.record({ pid: fc.constantFrom(null, 42) }),
  succeeded: fc.record({ outcome: fc.constantFrom<unknown>(undefined, 7) }),
  failed: fc.record({ failure, retryAt }),
  ended: fc.record({ failure, partialOutcome: fc.constantFrom<unknown>(undefined, "part") }),
  lost: fc.record({ failure }),
  pauseReached: fc.constant({}),
  pauseTimedOut: fc.constant({}),
  retryLost: force,
  requeue: force,
  rerun: force,
  force: fc
    .tuple(fc.constantFrom(...TASK_STATUSES), force, outcome)
    .map(([to, ...more]) => Object.assign({ to }, ...more) as { readonly to: (typeof TASK_STATUSES)[number] }),
};

/** The name of every lifecycle event. */
export const EVENT_NAMES = Object.keys(TRIGGERS) as readonly LifecycleEventType[];

function eventOf(type: LifecycleEventType): fc.Arbitrary<LifecycleEvent> {
  return fc.tuple(PARTS[type], person).map(([parts, by]) => ({ type, ...by, ...parts }) as LifecycleEvent);
}

/** What lies deep in a life, or leads there, comes more often: so that random sequences get everywhere. */
const WEIGHTS: Partial<Record<LifecycleEventType, number>> = {
  enqueue: 6,
  dispatch: 16,
  launched: 10,
  pause: 3,
  pauseReached: 4,
  pauseTimedOut: 3,
  resume: 3,
  failed: 6,
  backoffElapsed: 4,
  succeeded: 2,
  ended: 2,
  lost: 2,
  retryLost: 3,
  requeue: 3,
  retry: 3,
};

/** Any lifecycle event, valid or odd. */
export const anyLifecycleEvent: fc.Arbitrary<LifecycleEvent> = fc.oneof(
  ...EVENT_NAMES.map((type) => ({ weight: WEIGHTS[type] ?? 1, arbitrary: eventOf(type) })),
);
