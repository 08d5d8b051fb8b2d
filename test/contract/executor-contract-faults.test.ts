import { describe, expect, test } from "vitest";
import type { Executor, ExecutorSupports } from "../../src/core/ports/executor.ts";
import { AsyncExecutor } from "../../src/runtime/executors/async.ts";
import { InlineExecutor } from "../../src/runtime/executors/inline.ts";
import { ThreadExecutor } from "../../src/runtime/executors/thread.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { executorContract } from "../../src/testing/executor-contract.ts";
import { ContractViolation } from "../../src/testing/executor-trial.ts";
import { ENDS_FAULTS } from "./fixtures/faults/ends.ts";
import { PAUSES_FAULTS } from "./fixtures/faults/pauses.ts";
import type { PlantedFault } from "./fixtures/faults/planting.ts";
import { REPORTING_FAULTS } from "./fixtures/faults/reporting.ts";
import { STOPS_FAULTS } from "./fixtures/faults/stops.ts";
import { TurnExecutor } from "./fixtures/turn-executor.ts";

const PLANTED_FAULTS = [...ENDS_FAULTS, ...STOPS_FAULTS, ...PAUSES_FAULTS, ...REPORTING_FAULTS];

const module = new URL("./fixtures/executor-tasks.ts", import.meta.url).href;

const MAKERS = {
  async: () => new AsyncExecutor(systemClock),
  inline: () => new InlineExecutor(systemClock),
  turns: () => new TurnExecutor(),
  thread: () => new ThreadExecutor(systemClock, { keep: 1, maxTasks: 100, resourceLimits: {} }),
} satisfies Record<PlantedFault["on"], () => Executor>;

interface BoundCase {
  readonly found: ReturnType<typeof executorContract>[number];
  /** Ends what the planted fault may have left. */
  readonly clear: () => Promise<void>;
}

/** The case that is to find the fault, bound to the executor that has it. */
function caseOf({ on, foundBy, states, plant }: PlantedFault): BoundCase {
  const inner: Executor = MAKERS[on]();
  const supports: ExecutorSupports = { ...inner.supports, ...states };
  const executor: Executor = {
    kind: inner.kind,
    supports,
    prepare: async (tasks) => await inner.prepare?.(tasks),
    launch: (request) => inner.launch(request),
    close: async () => await inner.close(),
    ...plant(inner),
  };
  const make = () => ({ executor, ...(on === "thread" ? { module } : {}) });
  const found = executorContract({ make, supports, patienceMs: on === "thread" ? 6_000 : 1_500 }).find(({ name }) => name.startsWith(foundBy));
  if (found === undefined) throw new Error(`no case begins with "${foundBy}"`);
  return { found, clear: async () => await inner.close() };
}

async function problemOf(planted: PlantedFault): Promise<unknown> {
  const { found, clear } = caseOf(planted);
  try {
    expect(found.skip).toBeNull();
    return await found.run().then(
      () => null,
      (error: unknown) => error,
    );
  } finally {
    await clear();
  }
}

describe("the contract finds an executor that", () => {
  const expectFound = async (planted: PlantedFault): Promise<void> => {
    const problem = await problemOf(planted);
    expect(problem).toBeInstanceOf(Error);
    expect(problem).toHaveProperty("message", expect.stringMatching(planted.says));
  };

  // They mostly wait for what does not come.
  test.concurrent.each(PLANTED_FAULTS.filter(({ on }) => on !== "thread"))("$fault ($on)", async (planted) => await expectFound(planted));
  // They need a CPU to show the fault.
  test.each(PLANTED_FAULTS.filter(({ on }) => on === "thread"))("$fault ($on)", async (planted) => await expectFound(planted));
});

test("every case of the contract has found a fault", () => {
  const supports = MAKERS.async().supports;
  const names = executorContract({ make: () => ({ executor: MAKERS.async() }), supports }).map(({ name }) => name);
  expect(names.filter((name) => !PLANTED_FAULTS.some(({ foundBy }) => name.startsWith(foundBy)))).toEqual([]);
});

test("what a case leaves behind counts less than what it found", async () => {
  const planted = PLANTED_FAULTS.find(({ fault }) => fault === "loses the message of a stop");
  if (planted === undefined) throw new Error("no such fault");
  const plant = (inner: Executor): Partial<Executor> => ({ ...planted.plant(inner), close: async () => await Promise.reject(new Error("cannot close")) });
  expect(await problemOf({ ...planted, plant })).toBeInstanceOf(ContractViolation);
});

test("a case that does not apply says why", () => {
  const skipped = executorContract({ make: () => ({ executor: MAKERS.async() }), supports: MAKERS.async().supports }).filter(({ skip }) => skip !== null);
  expect(skipped.length).toBeGreaterThan(5);
  expect(skipped.map(({ skip }) => skip)).toContain("it cannot end a body by force (supports.kill is false)");
});
