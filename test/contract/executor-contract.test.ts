import { describe, expect, test } from "vitest";
import type { Executor, ExecutorSupports } from "../../src/core/ports/executor.ts";
import { AsyncExecutor } from "../../src/runtime/executors/async.ts";
import { InlineExecutor } from "../../src/runtime/executors/inline.ts";
import { ProcessExecutor } from "../../src/runtime/executors/process.ts";
import { ThreadExecutor } from "../../src/runtime/executors/thread.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { executorContract } from "../../src/testing/executor-contract.ts";
import { TurnExecutor } from "./fixtures/turn-executor.ts";

interface Subject {
  readonly kind: string;
  readonly make: () => Executor;
  readonly supports: ExecutorSupports;
  readonly module?: string;
}

const module = new URL("./fixtures/executor-tasks.ts", import.meta.url).href;
const HERE = { kill: false, closures: true, syncCheckpoint: false, beats: false } as const;
const OUTSIDE = { pause: true, kill: true, closures: false, syncCheckpoint: true } as const;
const CHILDREN = { standby: 0, maxTasks: 100, execArgv: [] } as const;

const SUBJECTS: readonly Subject[] = [
  { kind: "async", make: () => new AsyncExecutor(systemClock), supports: { ...HERE, pause: true } },
  { kind: "inline", make: () => new InlineExecutor(systemClock), supports: { ...HERE, pause: false } },
  { kind: "of a third party", make: () => new TurnExecutor(), supports: { ...HERE, pause: true, beats: true } },
  {
    kind: "thread",
    make: () => new ThreadExecutor(systemClock, { keep: 1, maxTasks: 100, resourceLimits: {} }),
    supports: { ...OUTSIDE, beats: false },
    module,
  },
  { kind: "process", make: () => new ProcessExecutor(systemClock, { ...CHILDREN, reuse: false }), supports: { ...OUTSIDE, beats: true }, module },
];

function casesOf({ make, supports, module: tasks }: Subject): ReturnType<typeof executorContract> {
  return executorContract({ make: () => ({ executor: make(), ...(tasks === undefined ? {} : { module: tasks }) }), supports });
}

function register(cases: ReturnType<typeof executorContract>): void {
  for (const { name, skip, run } of cases) {
    test.skipIf(skip !== null)(`${name}`, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
  }
}

describe.each(SUBJECTS)("an executor: $kind", (subject) => {
  register(casesOf(subject));
});

describe("an executor: process, its children used again", () => {
  const cases = casesOf({
    kind: "process",
    make: () => new ProcessExecutor(systemClock, { ...CHILDREN, reuse: true }),
    supports: { ...OUTSIDE, beats: true },
    module,
  });
  // What can only go wrong where a child runs more than one task.
  register(cases.filter(({ name }) => /attempt|refuses|goes on|closed|killed|kills/.test(name)));
});
