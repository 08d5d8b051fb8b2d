import type { LifecycleEvent } from "../src/core/lifecycle-events.ts";
import { createSnapshot } from "../src/core/snapshot.ts";
import { apply } from "../src/core/state-machine.ts";
import { alternate } from "./lib/alternate.ts";
import { ROUNDS, sized } from "./lib/mode.ts";
import { report } from "./lib/report.ts";

// Steps of the pure state machine: the whole life of a task that succeeds, and one with a pause in it.
const TASKS = sized(100_000, 500);

const plain: readonly LifecycleEvent[] = [
  { type: "enqueue" },
  { type: "dispatch", owner: "node:1", executor: "async" },
  { type: "launched", pid: null },
  { type: "succeeded", outcome: 42 },
];
const paused: readonly LifecycleEvent[] = [
  { type: "enqueue" },
  { type: "dispatch", owner: "node:1", executor: "async" },
  { type: "launched", pid: null },
  { type: "pause", actor: "user" },
  { type: "pauseReached" },
  { type: "resume", actor: "user" },
  { type: "succeeded", outcome: 42 },
];

function stepsPerSecond(life: readonly LifecycleEvent[]): number {
  const first = createSnapshot({ taskId: "0123456789abcdef", name: "bench", createdAt: 1_000, maxAttempts: 1 });
  let steps = 0;
  const from = performance.now();
  for (let task = 0; task < TASKS; task += 1) {
    let snapshot = first;
    for (const event of life) {
      const applied = apply(snapshot, event, 1_000 + steps);
      if (!applied.ok) throw applied.error;
      snapshot = applied.snapshot;
      steps += applied.transitions.length;
    }
  }
  const seconds = (performance.now() - from) / 1_000;
  if (steps !== TASKS * life.length) throw new Error(`expected ${TASKS * life.length} steps, and there were ${steps}.`);
  return steps / seconds;
}

const figures = await alternate(
  [
    { name: "plain", measure: () => stepsPerSecond(plain) },
    { name: "paused", measure: () => stepsPerSecond(paused) },
  ],
  { rounds: ROUNDS },
);
for (const life of ["plain", "paused"] as const) {
  report({ bench: "state-machine", metric: `steps, ${life} life`, unit: "steps/s", samples: figures[life], target: { atLeast: 1_000_000 } });
}
