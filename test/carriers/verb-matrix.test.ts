import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InvalidTransition, isTerminal } from "../../src/index.ts";
import type { TaskHandle, Verb } from "../../src/index.ts";
import type { ExecutorKind } from "../../src/core/ports/executor.ts";
import { VERB_TABLE } from "../../src/core/verbs.ts";
import type { VerbRow } from "../../src/core/verbs.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { FaultStore } from "../runtime/support/fault-store.ts";
import { asyncPuppet, inlinePuppet, processPuppet, threadPuppet } from "./fixtures/puppets.ts";
import type { Manner } from "./fixtures/puppets.ts";
import { CarrierRig } from "./support/carrier-rig.ts";
import { eventually } from "./support/eventually.ts";
import { KINDS } from "./support/kinds.ts";
import { expectSound } from "./support/soundness.ts";
import { Stage } from "./support/stage.ts";

// Each carrier × each verb × each phase; what is expected is read from the verb table and the carrier's facts.
const ASKED = ["stop", "cancel", "pause", "resume", "retry"] as const satisfies readonly Verb[];
type Asked = (typeof ASKED)[number];

interface Phase {
  readonly name: string;
  readonly row: VerbRow;
  readonly manner: Manner;
  /** Can the phase be reached at all without a pause? */
  readonly needsPause: boolean;
}

const PHASES: readonly Phase[] = [
  { name: "starting", row: "starting", manner: "heedful", needsPause: false },
  { name: "running", row: "running", manner: "heedful", needsPause: false },
  { name: "pausing", row: "pausing", manner: "deaf", needsPause: true },
  { name: "paused", row: "paused (in place)", manner: "heedful", needsPause: true },
  { name: "stopping", row: "stopping", manner: "lingering", needsPause: false },
];

const store = new FaultStore(memoryStore());
let rig: CarrierRig;

beforeAll(async () => {
  rig = await CarrierRig.open({
    store,
    tasks: [inlinePuppet, asyncPuppet, threadPuppet, processPuppet],
    // One slot: a task whose slot is not given back holds up everything behind it.
    concurrency: { maxParallel: 1 },
    processes: { standby: 2 },
  });
});

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
});

// What runs inline cannot be paused, so two of its phases cannot be reached.
const ROWS = KINDS.flatMap((kind) => PHASES.filter(({ needsPause }) => kind !== "inline" || !needsPause).map((phase) => ({ kind, name: phase.name, phase })));

describe.each(ROWS)("$kind, $name", ({ kind, phase }) => {
  test.each(ASKED)("%s", async (verb) => {
    await expectCell(kind, phase, verb);
  });
});

test("the library had nothing to complain of", () => {
  expect(rig.said).toEqual([]);
});

async function expectCell(kind: ExecutorKind, phase: Phase, verb: Asked): Promise<void> {
  using stage = new Stage();
  const { handle, open } = await reach(kind, phase, stage);
  const before = await countSteps(handle, verb);
  const effect = kind === "inline" && verb === "pause" && phase.row !== "stopping" ? "refused" : VERB_TABLE[phase.row][verb].effect;
  expect((await rig.controller.can(handle.id, verb)).allowed).toBe(effect !== "refused");

  const answer = ask(handle, verb);
  if (effect === "refused") await expect(answer).rejects.toBeInstanceOf(InvalidTransition);
  open();
  stage.cue("heed", "let-go");
  if (effect !== "refused") await expectAnswer(await answer, verb, phase);
  const last = await bringToEnd(handle, stage);

  expect(last).toBe(endOf(verb, phase));
  // To stop what is paused wakes it first: two steps of one commit.
  const steps = effect !== "moves" ? 0 : phase.name === "paused" && (verb === "stop" || verb === "cancel") ? 2 : 1;
  expect((await countSteps(handle, verb)) - before).toBe(steps);
  await expectSound(rig.controller, handle.id);
  if (last === "stopped" || last === "cancelled") await expectRetried(handle, stage);
}

/** Brings a puppet into the phase; `open` lets a phase that is held in the store go on. */
async function reach(kind: ExecutorKind, phase: Phase, stage: Stage): Promise<{ readonly handle: TaskHandle<string>; readonly open: () => void }> {
  if (phase.name === "starting") {
    const barrier = store.hold("commit");
    const handle = await rig.puppet(kind, { stage: stage.folder, manner: phase.manner });
    await eventually("the step to starting is being stored", () => barrier.arrived > 0);
    return { handle, open: () => barrier.release() };
  }
  const handle = await rig.puppet(kind, { stage: stage.folder, manner: phase.manner });
  await rig.at(handle.id, "begun");
  if (phase.name === "pausing") {
    void handle.pause({ timeout: "30s" });
    await rig.became(handle.id, "pausing");
  }
  if (phase.name === "paused") expect(await handle.pause()).toBe(true);
  if (phase.name === "stopping") {
    void handle.stop({ grace: "30s" });
    await rig.at(handle.id, "lingering");
  }
  return { handle, open() {} };
}

async function ask(handle: TaskHandle<string>, verb: Asked): Promise<unknown> {
  switch (verb) {
    case "stop":
    case "cancel":
      return (await handle[verb]({ grace: "30s" })).status;
    case "pause":
      return await handle.pause({ timeout: "30s" });
    case "resume":
    case "retry":
      return (await handle[verb]()).status;
  }
}

async function expectAnswer(answer: unknown, verb: Asked, phase: Phase): Promise<void> {
  if (verb === "pause") expect(answer).toBe(true);
  else if (verb === "resume") expect(answer).toBe(phase.name === "starting" ? "starting" : "running");
  else expect(answer).toBe(endOf(verb, phase));
}

function endOf(verb: Asked, phase: Phase): string {
  // The first of stop and cancel stays.
  if (phase.name === "stopping" || verb === "stop") return "stopped";
  return verb === "cancel" ? "cancelled" : "succeeded";
}

async function bringToEnd(handle: TaskHandle<string>, stage: Stage): Promise<string> {
  stage.cue("finish");
  // What was "pausing" a moment ago may yet become "paused".
  return await eventually("it has ended", async () => {
    const { status } = await handle.snapshot();
    if (status === "paused") await handle.resume();
    return isTerminal(status) ? status : undefined;
  });
}

async function countSteps(handle: TaskHandle<string>, verb: Asked): Promise<number> {
  return (await rig.controller.history(handle.id)).filter((step) => step.trigger === `user:${verb}`).length;
}

/** The same task once more: the carrier, the slot and the record are fit for it. */
async function expectRetried(handle: TaskHandle<string>, stage: Stage): Promise<void> {
  stage.cue("finish");
  await handle.retry();
  expect(await handle.result()).toBe("finished");
  expect((await expectSound(rig.controller, handle.id)).attempt).toBe(2);
}
