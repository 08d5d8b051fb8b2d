import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { allSettled, ConfigurationError, definePipeline, task } from "../../src/index.ts";
import { callNow } from "../api/stage.ts";
import { FACTS, processReader, processTaker, threadReader, threadTaker } from "./fixtures/facts.ts";
import { CarrierRig } from "./support/carrier-rig.ts";
import { KILLABLE, KINDS } from "./support/kinds.ts";
import { expectSound } from "./support/soundness.ts";

const AT_ONCE = { maxAttempts: 3, backoff: () => 0 } as const;

describe.each(KILLABLE)("%s: what cannot be copied", (kind) => {
  test.each(["result", "emit", "save"] as const)("is refused where it is said (%s), with its path, and never tried again", async (by) => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], concurrency: { maxParallel: 1 } });
    const handle = await rig.controller.submit(FACTS[kind], [{ does: "let out a function", by }], { retry: AT_ONCE });
    const snapshot = await expectSound(rig.controller, handle.id);
    expect(snapshot).toMatchObject({ status: "failed", attempt: 1, failure: { name: "ConfigurationError", retryable: false } });
    // Saved state is copied with every executor: another one would not help.
    expect(snapshot.failure?.message).toMatch(by === "save" ? /rows\[1\]\.call.*Give plain data/ : /rows\[1\]\.call.*executor: "async"/);
    expect(await (await rig.controller.submit(FACTS[kind], [{ does: "give back", value: "next" }])).result()).toBe("next");
  });

  test("is refused as an argument, with its path; the carrier serves the next task", async () => {
    const taker = kind === "thread" ? threadTaker : processTaker;
    const source = task({ name: "source" }, () => ({ rows: [1, { call: () => 1 }] }));
    const pipeline = definePipeline("uncopyable", { onFailure: allSettled() }, (p) => {
      const node = p.add(source);
      p.add(taker, { deps: [node], args: (up) => [up(node)], retry: AT_ONCE });
    });
    await using rig = await CarrierRig.open({ tasks: [taker], pipelines: [pipeline], concurrency: { maxParallel: 1 } });
    const run = await rig.controller.startRun(pipeline);
    await run.wait({ timeout: "10s" });
    const { items } = await rig.controller.list({ name: taker.name });
    const snapshot = await expectSound(rig.controller, items[0]?.taskId ?? "");
    expect(snapshot).toMatchObject({ status: "failed", attempt: 1, failure: { name: "ConfigurationError" } });
    expect(snapshot.failure?.message).toContain("args[0].rows[1].call");
    expect(await (await rig.controller.submit(taker, ["plain"])).result()).toBe("taken");
  });

  test("values of many kinds pass both ways as they are", async () => {
    const reader = kind === "thread" ? threadReader : processReader;
    const value = {
      date: new Date(5),
      map: new Map([["a", 1n]]),
      set: new Set([1]),
      bytes: new Uint8Array([1, 2]),
      nested: [undefined, null, -0, NaN],
      text: "🦊\u0000",
    };
    const source = task({ name: "source" }, () => value);
    const pipeline = definePipeline("upstream", {}, (p) => {
      const node = p.add(source);
      p.add(reader, { name: "sink", deps: [node], args: ["source"] });
    });
    await using rig = await CarrierRig.open({ pipelines: [pipeline] });
    const run = await rig.controller.startRun(pipeline);
    expect((await run.wait({ timeout: "10s" })).status).toBe("succeeded");
    const { items } = await rig.controller.list({ name: reader.name });
    expect((await rig.controller.get(items[0]?.taskId ?? "")).outcome).toEqual(value);
  });

  test("an upstream that does not exist is an error of the body, told as such", async () => {
    const reader = kind === "thread" ? threadReader : processReader;
    const pipeline = definePipeline("no upstream", { onFailure: allSettled() }, (p) => void p.add(reader, { args: ["nowhere"] }));
    await using rig = await CarrierRig.open({ tasks: [reader], pipelines: [pipeline] });
    const run = await rig.controller.startRun(pipeline);
    await run.wait({ timeout: "10s" });
    const { items } = await rig.controller.list({ name: reader.name });
    expect(items[0]).toMatchObject({ status: "failed" });
    expect(items[0]?.failure?.message).toContain("nowhere");
    const alone = await rig.controller.submit(reader, ["nowhere"]);
    expect((await alone.wait({ timeout: "10s" })).failure?.message).toContain("not as a node of a pipeline");
  });
});

describe.each(KILLABLE)("%s: arguments that are storable and cannot be carried", (kind) => {
  test("are refused when they are submitted, with their path", async () => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], processes: { standby: 1 } });
    const submitted = callNow(rig.controller, "submit", [FACTS[kind].name, [{ at: [new URL("http://example.test/")] }]]);
    await expect(submitted).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringMatching(/^args\[0\]\.at\[0\] cannot leave .*its href/) });
    expect((await rig.controller.list()).items).toEqual([]);
  });
});

describe.each(KINDS)("%s: what a body says", (kind) => {
  const open = async (): Promise<CarrierRig> => await CarrierRig.open({ tasks: [FACTS[kind]], concurrency: { maxParallel: 1 } });

  test("in a log line never fails it: what cannot be copied is a text there", async () => {
    await using rig = await open();
    const handle = await rig.controller.submit(FACTS[kind], [{ does: "let out a function", by: "log" }]);
    expect(await handle.result()).toBe("was not refused");
    const lines = rig.eventsOf(handle.id).flatMap((event) => (event.type === "TaskLogLine" ? [event.fields] : []));
    expect(lines).toEqual([{ rows: [1, { call: "function call" }] }]);
  });

  test("by ctx.emit is refused with its path where it cannot be copied", async () => {
    await using rig = await open();
    const handle = await rig.controller.submit(FACTS[kind], [{ does: "let out a function", by: "emit" }], { retry: AT_ONCE });
    const { status, attempt, failure } = await handle.wait({ timeout: "10s" });
    expect({ status, attempt, name: failure?.name }).toEqual({ status: "failed", attempt: 1, name: "ConfigurationError" });
    expect(failure?.message).toMatch(/^ctx\.emit: payload of "value"\.rows\[1\]\.call cannot/);
  });

  test("is as it was then, whatever becomes of it", async () => {
    await using rig = await open();
    const handle = await rig.controller.submit(FACTS[kind], [{ does: "change what it has said" }]);
    await handle.result();
    await rig.became(handle.id, "succeeded");
    expect(rig.outputs(handle.id, "value")).toEqual([{ rows: [1] }]);
    expect(rig.eventsOf(handle.id).flatMap((event) => (event.type === "TaskLogLine" ? [event.fields] : []))).toEqual([{ rows: [1] }]);
  });
});

describe.each(KINDS)("%s: what lasts from one attempt to the next", (kind) => {
  test("is what was saved; the fencing token rises", async () => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], processes: { standby: 1 } });
    const first = await rig.controller.submit(FACTS[kind], [{ does: "count up, failing until", attempt: 1 }]);
    const third = await rig.controller.submit(FACTS[kind], [{ does: "count up, failing until", attempt: 3 }], { retry: AT_ONCE });
    const one = (await first.result()) as { readonly before: number; readonly after: number; readonly fencingToken: number };
    const three = (await third.result()) as { readonly before: number; readonly after: number; readonly fencingToken: number };
    expect(one).toMatchObject({ before: 0, after: 1 });
    expect(three).toMatchObject({ before: 2, after: 3 });
    expect(three.fencingToken).toBeGreaterThan(one.fencingToken);
  });

  test("is there also when a person retries what has ended", async () => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], processes: { standby: 1 } });
    const handle = await rig.controller.submit(FACTS[kind], [{ does: "count up, failing until", attempt: 2 }]);
    expect(await handle.wait({ timeout: "10s" })).toMatchObject({ status: "failed" });
    await handle.retry();
    expect(await handle.result()).toMatchObject({ before: 1, after: 2 });
  });

  test("is no file: each attempt has a folder of its own, and each file is there whole or not at all", async () => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], processes: { standby: 1 } });
    const report = async (content: string, fails: boolean): Promise<string> => {
      const handle = await rig.controller.submit(FACTS[kind], [{ does: "write report", content, fails }], { retry: AT_ONCE });
      return fails ? (await handle.wait({ timeout: "10s" })).status : String(await handle.result());
    };
    const good = await report("whole", false);
    expect(await report("half", true)).toBe("failed");
    const better = await report("better", false);
    expect(readFileSync(good, "utf8")).toBe("whole");
    expect(readFileSync(better, "utf8")).toBe("better");
    const [failed] = (await rig.controller.list({ status: ["failed"] })).items;
    const folder = (attempt: number): string => better.replace(/\/[0-9a-z]{16}\/(\d+)-1\//, `/${failed?.taskId}/$1-${attempt}/`);
    for (const attempt of [1, 2, 3]) expect(readFileSync(folder(attempt), "utf8")).toBe("half");
    await rig.controller.close({ grace: 0 });
    expect(existsSync(dirname(better))).toBe(false);
  });

  test("no name leads out of its folder", async () => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], processes: { standby: 0, reuse: true }, threads: { keep: 1 } });
    for (const name of ["../out", "/etc/passwd", "a/../../b", "", " ", "a//b", "a\\b", "a\u0000b", "C:x", "x".repeat(256)]) {
      const handle = await rig.controller.submit(FACTS[kind], [{ does: "escape", name }]);
      expect(await handle.wait({ timeout: "10s" }), name).toMatchObject({ status: "failed", failure: { name: "ConfigurationError" } });
    }
  });
});

test("arguments that cannot be stored are refused by submit, before anything runs", async () => {
  await using rig = await CarrierRig.open({ tasks: [threadTaker] });
  await expect(rig.controller.submit(threadTaker, [{ call: () => 1 }])).rejects.toBeInstanceOf(ConfigurationError);
});
