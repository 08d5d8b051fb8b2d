import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { InvalidTransition } from "../../src/index.ts";
import type { AnyTask, Task, TaskHandle } from "../../src/index.ts";
import { asyncSteps, busyProcessSteps, busyThreadSteps, inlineSteps, processSteps, threadSteps } from "./fixtures/steps.ts";
import { CarrierRig } from "./support/carrier-rig.ts";
import { within } from "./support/eventually.ts";
import { LONG } from "./support/kinds.ts";
import { expectSound } from "./support/soundness.ts";

// A verb is asked for at points swept over a phase in small steps. Whatever it meets, the end must be one that can be
// explained, the record whole and the slot free.
type Steps = Task<string, [stepMs: number], string>;

interface Subject {
  readonly name: string;
  readonly task: Steps;
  readonly points: number;
  readonly pauses: boolean;
  /** Its carrier is made for it, so that a launch takes time. */
  readonly launches: boolean;
}

const more = LONG ? 10 : 1;
const SUBJECTS: readonly Subject[] = [
  { name: "inline", task: inlineSteps, points: 20 * more, pauses: false, launches: false },
  { name: "async", task: asyncSteps, points: 20 * more, pauses: true, launches: false },
  { name: "thread", task: threadSteps, points: 12 * more, pauses: true, launches: true },
  { name: "process", task: processSteps, points: 5 * more, pauses: true, launches: true },
  { name: "busy thread", task: busyThreadSteps, points: 12 * more, pauses: true, launches: false },
  { name: "busy process", task: busyProcessSteps, points: 4 * more, pauses: true, launches: false },
];
const STEP_MS = 3;
const PATIENCE = { timeout: LONG ? 600_000 : 60_000 };

describe.each(SUBJECTS.filter(({ launches }) => launches))("$name, cold", (subject) => {
  test("a stop at any point of a cold launch", PATIENCE, async () => {
    await using rig = await open(subject.task, "cold");
    await finish(rig, subject);
    const launchMs = await timed(async () => await finish(rig, subject));
    for (const atMs of sweep(subject.points, launchMs * 1.2)) {
      await sound(rig, subject, atMs, async (handle) => {
        await sleep(atMs);
        expect(await stop(handle)).toMatch(/^(stopped|succeeded)$/);
      });
    }
  });
});

describe.each(SUBJECTS)("$name", (subject) => {
  test("a stop at any point of the body", PATIENCE, async () => {
    await using rig = await open(subject.task, "warm");
    for (const atMs of sweep(subject.points, STEP_MS * 5)) {
      await sound(rig, subject, atMs, async (handle) => {
        await rig.at(handle.id, "begun");
        await sleep(atMs);
        expect(await stop(handle)).toMatch(/^(stopped|succeeded)$/);
      });
    }
  });

  test("a stop at the very finish", PATIENCE, async () => {
    await using rig = await open(subject.task, "warm");
    for (let turns = 0; turns < subject.points; turns += 1) {
      await sound(rig, subject, turns, async (handle) => {
        await heard(rig, handle, "last");
        for (let left = turns; left > 0; left -= 1) await (left % 2 === 0 ? turn() : Promise.resolve());
        // Nothing is left at which it could notice.
        expect(await stop(handle)).toBe("succeeded");
      });
    }
  });
});

// What runs inline cannot be paused.
describe.each(SUBJECTS.filter(({ pauses }) => pauses))("$name, paused", (subject) => {
  test("a pause at any point of the body, overtaken by its finish or not", PATIENCE, async () => {
    await using rig = await open(subject.task, "warm");
    for (const atMs of sweep(subject.points, STEP_MS * 5)) {
      await sound(rig, subject, atMs, async (handle) => {
        await rig.at(handle.id, "begun");
        await sleep(atMs);
        const paused = await pause(handle);
        if (paused) await handle.resume();
        expect(await handle.result()).toBe("finished");
        const overtaken = (await rig.controller.history(handle.id)).some((step) => step.trigger === "pause:overtaken");
        if (paused) expect(overtaken).toBe(false);
      });
    }
  });

  test("a stop at any point of a pause", PATIENCE, async () => {
    await using rig = await open(subject.task, "warm");
    for (const atMs of sweep(subject.points, STEP_MS * 4)) {
      await sound(rig, subject, atMs, async (handle) => {
        await rig.at(handle.id, "begun");
        const pausing = pause(handle);
        await sleep(atMs);
        expect(await stop(handle)).toMatch(/^(stopped|succeeded)$/);
        expect(await pausing).toBeTypeOf("boolean");
      });
    }
  });

  test("pause and resume as fast as they can be asked for", PATIENCE, async () => {
    await using rig = await open(subject.task, "warm");
    for (let round = 0; round < Math.ceil(subject.points / 3); round += 1) {
      await sound(rig, subject, round, async (handle) => {
        const asked: Promise<unknown>[] = [];
        await rig.at(handle.id, "begun");
        for (let nth = 0; nth < 6; nth += 1) {
          asked.push(pause(handle), handle.resume().catch(refused));
          if (nth % 2 === 1) await turn();
        }
        await Promise.all(asked);
        expect(await handle.result()).toBe("finished");
      });
    }
  });
});

async function open(task: AnyTask, how: "cold" | "warm"): Promise<CarrierRig> {
  const cold = { threads: { keep: 0 }, processes: { standby: 0 } };
  // One slot: one that is not given back holds up the next point.
  return await CarrierRig.open({ tasks: [task], concurrency: { maxParallel: 1 }, ...(how === "cold" ? cold : { processes: { standby: 2 } }) });
}

function sweep(points: number, ms: number): readonly number[] {
  return Array.from({ length: points }, (_, index) => Math.round((ms * index * 10) / points) / 10);
}

async function sound(rig: CarrierRig, subject: Subject, point: number, act: (handle: TaskHandle<string>) => Promise<void>): Promise<void> {
  const handle = await rig.controller.submit(subject.task, [STEP_MS]);
  try {
    await within(15_000, "the point", act(handle));
    await expectSound(rig.controller, handle.id);
  } catch (error) {
    const history = (await rig.controller.history(handle.id)).map((step) => `${step.trigger} → ${step.to}`).join(", ");
    throw new Error(`at point ${point}: ${String(error)} (${history})`, { cause: error });
  }
}

async function finish(rig: CarrierRig, { task }: Subject): Promise<void> {
  const handle = await rig.controller.submit(task, [STEP_MS]);
  expect(await handle.result()).toBe("finished");
}

async function timed(act: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await act();
  return performance.now() - begun;
}

/** Stops it, or answers how it had ended before. */
async function stop(handle: TaskHandle<string>): Promise<string> {
  try {
    return (await handle.stop({ grace: "10s" })).status;
  } catch (error) {
    refused(error);
    return (await handle.snapshot()).status;
  }
}

async function pause(handle: TaskHandle<string>): Promise<boolean> {
  return await handle.pause({ timeout: "10s" }).catch(refused);
}

/** It had ended, or was being stopped: the table's answer. Anything else is a fault. */
function refused(error: unknown): false {
  expect(error).toBeInstanceOf(InvalidTransition);
  return false;
}

/** Resolves in the very turn in which the event comes. */
async function heard(rig: CarrierRig, handle: TaskHandle<string>, word: string): Promise<void> {
  if (rig.outputs(handle.id, "at").includes(word)) return;
  for await (const event of rig.controller.events({ types: ["TaskOutput"] })) {
    if (event.taskId === handle.id && event.type === "TaskOutput" && event.payload === word) return;
  }
}
