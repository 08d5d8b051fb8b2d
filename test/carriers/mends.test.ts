import { existsSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { ProcessExecutor } from "../../src/runtime/executors/process.ts";
import type { ProcessLink } from "../../src/runtime/executors/process-link.ts";
import { ReportRecorder } from "../../src/testing/executor-recorder.ts";
import { jobOf } from "../runtime/executors-unit/support/listening.ts";
import {
  processBides,
  processEndsNoLine,
  processLeavesEnd,
  processLeavesTrace,
  processSavesAndDies,
  threadBides,
  threadEndsNoLine,
  threadLeavesEnd,
  threadLeavesTrace,
} from "./fixtures/mended.ts";
import { CarrierRig, PUPPETS } from "./support/carrier-rig.ts";
import { eventually } from "./support/eventually.ts";
import { KILLABLE } from "./support/kinds.ts";
import { expectSound } from "./support/soundness.ts";
import { Stage } from "./support/stage.ts";

/** Its first child can be made, and none after it. */
class OneChild extends ProcessExecutor {
  made = 0;

  protected override make(): ProcessLink {
    this.made += 1;
    if (this.made > 1) throw new Error("no more children");
    return super.make();
  }
}

test("a child for the next task is made a moment after a launch; that it cannot be made fails no task that has begun", async () => {
  const executor = new OneChild(systemClock, { standby: 1, reuse: false, maxTasks: 1, execArgv: [] });
  const { activeGapMs: _gap, asksToBegin: _asks, deadlineAt, ...job } = jobOf("returns", { args: [7] });
  const { module, name } = job;
  try {
    await executor.prepare([{ module, name }]);
    const request = {
      ...job,
      saved: undefined,
      run: () => undefined,
      startMs: null,
      idleMs: null,
      deadlineAt: () => deadlineAt,
      upstream: async () => await Promise.resolve(),
      reports: new ReportRecorder(),
    };
    const handle = executor.launch(request);
    expect(executor.made).toBe(1);
    expect(await handle.settled).toMatchObject({ type: "returned", value: 7 });
    await eventually("the next one was tried", () => executor.made === 2);
  } finally {
    await executor.close();
  }
});

describe("a line that was not ended, on both streams", () => {
  test.each([
    { kind: "thread", subject: threadEndsNoLine, reuse: false },
    { kind: "process", subject: processEndsNoLine, reuse: false },
    { kind: "process", subject: processEndsNoLine, reuse: true },
  ])("$kind, reuse: $reuse: both are there before the verdict", async ({ subject, reuse }) => {
    await using rig = await CarrierRig.open({ tasks: [subject], concurrency: { maxParallel: 2 }, processes: { reuse } });
    const handles = await Promise.all(Array.from({ length: 12 }, async () => await rig.controller.submit(subject)));
    for (const { id } of handles) {
      await rig.became(id, "succeeded");
      const told = rig.eventsOf(id).flatMap((event) => {
        if (event.type === "TaskOutput") return [`${event.kind}: ${String(event.payload)}`];
        return event.type === "TaskStatusChanged" && event.to === "succeeded" ? ["verdict"] : [];
      });
      expect(told.slice(0, 2).toSorted()).toEqual(["stderr: perr", "stdout: pout"]);
      expect(told.slice(2)).toEqual(["verdict"]);
    }
  });
});

describe("a start timeout that comes due while the carrier is getting ready", () => {
  test.each(KILLABLE)("%s: the body never begins, and the history never says that it ran", async (kind) => {
    using stage = new Stage();
    const [puppet, subject] = kind === "thread" ? [PUPPETS.thread, threadLeavesTrace] : [PUPPETS.process, processLeavesTrace];
    await using rig = await CarrierRig.open({ tasks: [puppet, subject], processes: { standby: 0 } });
    // The warm carrier is taken: the next has to be made.
    const other = await rig.puppet(kind, { stage: stage.folder, manner: "heedful" });
    await rig.at(other.id, "begun");
    const handle = await rig.controller.submit(subject, [stage.path("trace")], { timeout: { start: 200 } });
    await rig.became(handle.id, "starting");
    for (let nth = 0; nth < 20; nth += 1) await turn();
    // The carrier has all the time that it needs, and this thread none to hear of it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    const snapshot = await expectSound(rig.controller, handle.id);
    expect(snapshot).toMatchObject({ status: "failed", failure: { kind: "timeout_start", message: "the launch took longer than 200 ms" } });
    expect((await rig.controller.history(handle.id)).map(({ to }) => to)).toEqual(["queued", "starting", "failed"]);
    expect(existsSync(stage.path("trace"))).toBe(false);
  });

  test.each([threadLeavesTrace, processLeavesTrace])("$name: in time it begins, and the timeout is over", async (subject) => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({ tasks: [subject] });
    const handle = await rig.controller.submit(subject, [stage.path("trace")], { timeout: { start: "20s" } });
    await expectSound(rig.controller, handle.id);
    expect((await rig.controller.history(handle.id)).map(({ to }) => to)).toEqual(["queued", "starting", "running", "succeeded"]);
    expect(existsSync(stage.path("trace"))).toBe(true);
  });
});

describe.each([
  { kind: "thread", leaver: threadLeavesEnd, innocent: threadBides },
  { kind: "process", leaver: processLeavesEnd, innocent: processBides },
] as const)("$kind: what a task has left behind ends its carrier", ({ kind, leaver, innocent }) => {
  const open = async (): Promise<CarrierRig> =>
    await CarrierRig.open({ tasks: [leaver, innocent], concurrency: { maxParallel: 1 }, threads: { keep: 1 }, processes: { standby: 1, reuse: true } });

  // A thread cannot abort, and its Node says so itself.
  test.each(["exit", "imported exit", "caught exit", "kill", ...(kind === "process" ? (["abort"] as const) : [])] as const)(
    "by %s: refused, on the record of the task that left it, and the next task runs on",
    async (how) => {
      await using rig = await open();
      const left = await rig.controller.submit(leaver, [how, 100]);
      const next = await rig.controller.submit(innocent, [400]);
      expect(await next.result()).toBe("bided");
      expect(rig.warnings(next.id)).toEqual([]);
      await eventually("it is on the record", () => rig.warnings(left.id).length > 0);
      expect((await left.snapshot()).status).toBe("succeeded");
      const told = rig.eventsOf(left.id).flatMap((event) => (event.type === "TaskWarning" ? [event.message] : []));
      expect(told).toEqual([expect.stringMatching(/process\.(exit|kill|abort)\(.*\) was called by what "leaves-end-.*" had left running/)]);
    },
  );

  test("by what nobody can tell: the failure of the next task says that it may not be its doing", async () => {
    await using rig = await open();
    const left = await rig.controller.submit(leaver, ["reallyExit", 200]);
    const next = await rig.controller.submit(innocent, [5_000]);
    const { status, failure } = await expectSound(rig.controller, next.id);
    expect({ status, exitCode: failure?.exitCode }).toEqual({ status: "failed", exitCode: 3 });
    expect(failure?.message).toContain(`the last of them "${leaver.name}" (${left.id})`);
  });
});

test("what was saved is there for the next attempt, though the process was killed in the next line", async () => {
  await using rig = await CarrierRig.open({ tasks: [processSavesAndDies], concurrency: { maxParallel: 2 }, processes: { standby: 2 } });
  const retry = { maxAttempts: 2, backoff: () => 0 };
  const handles = await Promise.all(Array.from({ length: 10 }, async () => await rig.controller.submit(processSavesAndDies, [], { retry })));
  for (const handle of handles) expect(await handle.result()).toBe(900_000);
});
