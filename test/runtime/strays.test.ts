import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TaskWarning } from "../../src/core/events.ts";
import { watchStrays } from "../../src/runtime/strays.ts";
import { sleep } from "./support/puppet.ts";
import { NOTHING_LEFT, Rig } from "./support/rig.ts";

const HOST = fileURLToPath(new URL("fixtures/stray-host.ts", import.meta.url));

/** Runs the host in a process of its own, which a crash may end. */
async function host(args: readonly string[], flags: readonly string[] = []): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...flags, HOST, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = await once(child, "close");
  return { code: typeof code === "number" ? code : null, output };
}

const COUNTED = ["unhandledRejection", "uncaughtException"] as const;

/** How many listen, for each kind of stray. */
function listeners(): readonly number[] {
  return COUNTED.map((name) => process.listenerCount(name));
}

describe("a rejection that nobody awaited", () => {
  let rig: Rig;

  beforeEach(async () => {
    rig = await Rig.open();
  });

  afterEach(async () => {
    await rig.engine.close(0);
  });

  test.each(["async", "inline"] as const)("after the task has ended is recorded on that task and nowhere else (%s)", async (executor) => {
    const leaving = await rig.submit(
      () => {
        void sleep(rig.clock, 1_000).then(() => Promise.reject(new TypeError("left behind")));
        return "done";
      },
      { executor },
    );
    const other = await rig.submit(() => 1);
    await rig.clock.advance(1_000);
    await rig.settle();
    expect(await rig.row(leaving)).toMatchObject({ status: "succeeded", outcome: "done", statusVersion: 4 });
    const warnings = rig.events.filter((event): event is TaskWarning => event.type === "TaskWarning");
    expect(warnings).toMatchObject([{ code: "stray_error", taskId: leaving.taskId, failure: { name: "TypeError", message: "left behind" } }]);
    expect(rig.warnings(other)).toEqual([]);
    expect(rig.left).toEqual(NOTHING_LEFT);
    // Stored, too: whoever looks later finds it.
    const stored = await rig.store.audit.feed(null, { limit: 100, taskId: leaving.taskId });
    expect(stored.map(({ event }) => event.type)).toContain("TaskWarning");
  });

  test("while the task runs is recorded and does not end it", async () => {
    const cell = await rig.submit(async () => {
      void Promise.reject(new Error("beside"));
      await sleep(rig.clock, 1_000);
      return "done";
    });
    await rig.settle();
    expect((await rig.row(cell)).status).toBe("running");
    await rig.clock.advance(1_000);
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "done" });
    expect(rig.warnings(cell)).toEqual(["stray_error"]);
  });

  test.each([undefined, null, 0, "", Symbol("x")])("that is no error (%o) is recorded with a message all the same", async (thrown) => {
    const cell = await rig.submit(() => {
      void Promise.reject(thrown);
    });
    await rig.settle();
    await rig.settle();
    const warning = rig.events.findLast((event): event is TaskWarning => event.type === "TaskWarning");
    expect(warning).toMatchObject({ taskId: cell.taskId, code: "stray_error" });
    expect(warning?.failure?.message).not.toBe("");
  });
});

describe("the listener", () => {
  test("is one pair for the whole process, and stays: what a task left behind may come long after its controller has closed", async () => {
    watchStrays();
    const once = listeners();
    watchStrays();
    const rigs = [await Rig.open(), await Rig.open()];
    for (const rig of rigs) await rig.engine.close(0);
    expect(listeners()).toEqual(once);
  });

  test("a stray after the controller has closed is only logged, and takes nothing down", async () => {
    const rig = await Rig.open();
    const gate = Promise.withResolvers<void>();
    await rig.submit(() => {
      void gate.promise.then(() => Promise.reject(new Error("long after")));
    });
    await rig.engine.close(0);
    gate.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(rig.said.filter((line) => line.startsWith("error"))).toHaveLength(1);
  });
});

describe("the host's own crash rule", () => {
  const STRAY = "stray_error: attempt 1 left a rejection or exception that nobody awaited";

  test.each([
    ["inside", "stray of a task"],
    ["inside-throws", "thrown by a task"],
    ["inside-throws-deep", "no error at all"],
  ])("a stray of a task that has ended does not take the process down, and is recorded (%s)", async (where, message) => {
    const { code, output } = await host([where]);
    expect([code, output]).toEqual([0, `result: done\n${STRAY}: ${message}\nlisteners: 1 and 1\n`]);
  });

  test("a stray rejection of a task is recorded once also under --unhandled-rejections=strict", async () => {
    const { code, output } = await host(["inside"], ["--unhandled-rejections=strict"]);
    expect([code, output]).toEqual([0, `result: done\n${STRAY}: stray of a task\nlisteners: 1 and 1\n`]);
  });

  test("a stray exception of a task that runs does not end it", async () => {
    const { code, output } = await host(["inside-throws-while-running"]);
    expect([code, output]).toEqual([0, `${STRAY}: thrown by a task\nresult: done\nlisteners: 1 and 1\n`]);
  });

  test.each([
    ["outside", "stray of the host"],
    ["outside-string", "no error at all"],
    ["outside-throws", "thrown by the host"],
    ["outside-throws-string", "no error at all"],
  ])("a stray of no task takes it down as it would without the library (%s)", async (where, message) => {
    const { code, output } = await host([where]);
    expect([code, output.includes(message), output.includes("listeners")]).toEqual([1, true, false]);
    // As Node itself says it: where it was thrown, and which Node it was.
    expect(output).toMatch(/\n\nNode\.js v\d+/);
  });

  test("an exception of no task is shown with its own name and stack", async () => {
    const { output } = await host(["outside-throws"]);
    expect(output).toMatch(/\nRangeError: thrown by the host\n {4}at \S+.*stray-host\.ts:\d+/);
  });

  test.each([
    ["outside", "Error: stray of the host"],
    ["outside-throws", "RangeError: thrown by the host"],
  ])("a stray of no task goes to the host's own listener where there is one (%s)", async (where, heard) => {
    const { code, output } = await host([where, "listening"]);
    expect([code, output]).toEqual([0, `result: done\nthe host heard: ${heard}\nlisteners: 2 and 2\n`]);
  });

  test.each([
    ["warn", 0],
    ["none", 0],
    ["warn-with-error-code", 1],
  ])("a host that chose --unhandled-rejections=%s runs on, and ends with code %i", async (mode, expected) => {
    const { code, output } = await host(["outside"], [`--unhandled-rejections=${mode}`]);
    expect([code, output.includes("listeners: 1 and 1")]).toEqual([expected, true]);
  });
});
