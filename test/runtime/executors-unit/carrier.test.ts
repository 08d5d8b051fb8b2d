import { beforeEach, describe, expect, test, vi } from "vitest";
import { recordError } from "../../../src/core/error-record.ts";
import { Carrier } from "../../../src/runtime/executors/carrier.ts";
import type { FromCarrier, Job } from "../../../src/runtime/executors/protocol.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { jobOf } from "./support/listening.ts";

const module = new URL("../../contract/fixtures/executor-tasks.ts", import.meta.url).href;

let said: FromCarrier[];
let retired: boolean;
let carrier: Carrier;

beforeEach(() => {
  said = [];
  retired = false;
  const inbox = { changed: false, drain: () => {}, sleep: () => {} };
  // As a port does: what cannot be copied throws where it is said.
  const post = (message: FromCarrier): void => void said.push(structuredClone(message));
  carrier = new Carrier(systemClock, { post, inbox, retire: () => (retired = true) });
});

function run(name: string, changes: Partial<Job> = {}): void {
  carrier.receive({ type: "run", job: jobOf(name, changes) });
}

function of<Type extends FromCarrier["type"]>(type: Type): readonly Extract<FromCarrier, { readonly type: Type }>[] {
  return said.filter((message): message is Extract<FromCarrier, { readonly type: Type }> => message.type === type);
}

async function until(isSo: () => boolean): Promise<void> {
  await vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 10_000, interval: 5 });
}

async function end(): Promise<FromCarrier | undefined> {
  await until(() => of("returned").length + of("threw").length > 0);
  return said.at(-1);
}

describe("a job", () => {
  test("is found by module and name, launched, run, and its end said last", async () => {
    run("returns", { args: [7] });
    expect(await end()).toEqual({ type: "returned", value: 7, noticed: false });
    expect(said.map(({ type }) => type)).toEqual(["launched", "emit", "returned"]);
  });

  test("that is not there is never launched", async () => {
    run("retruns");
    expect(await end()).toMatchObject({ type: "threw", error: { code: "CONFIGURATION", failure: { retryable: false } }, noticed: false });
    expect(of("launched")).toEqual([]);
  });

  test("stopped while its module loads runs nothing", async () => {
    run("returns", { args: [7] });
    carrier.receive({ type: "stop", message: "never mind" });
    expect(await end()).toMatchObject({ type: "threw", error: { code: "TASK_CANCELLED", failure: { message: "never mind" } }, noticed: true });
    expect(of("launched")).toEqual([]);
  });

  test("whose result cannot be copied throws, and says where", async () => {
    run("uncloneable result");
    expect(await end()).toMatchObject({ type: "threw", error: { failure: { message: expect.stringContaining("result.rows[1].callback") } } });
  });
});

describe("a job whose launch is timed", () => {
  test("is ready, and begins when it is told to", async () => {
    run("returns", { args: [7], asksToBegin: true });
    await until(() => of("ready").length === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(said.map(({ type }) => type)).toEqual(["ready"]);
    carrier.receive({ type: "begin" });
    expect(await end()).toEqual({ type: "returned", value: 7, noticed: false });
    expect(said.map(({ type }) => type)).toEqual(["ready", "emit", "returned"]);
  });

  test("ends when it is told to stop instead: nothing of it runs, also when both come", async () => {
    run("returns", { args: [7], asksToBegin: true });
    await until(() => of("ready").length === 1);
    carrier.receive({ type: "begin" });
    carrier.receive({ type: "stop", message: "never mind" });
    expect(await end()).toMatchObject({ type: "threw", error: { code: "TASK_CANCELLED", failure: { message: "never mind" } } });
    expect(said.map(({ type }) => type)).toEqual(["ready", "stopSeen", "threw"]);
  });
});

describe("what is told to a job that is over", () => {
  test("reaches nobody, least of all the next one", async () => {
    run("returns");
    await end();
    for (const message of [{ type: "stop", message: "late" }, { type: "pause", nth: 1 }, { type: "resume" }, { type: "deadline", at: 5 }] as const)
      carrier.receive(message);
    carrier.receive({ type: "answer", call: 1, answer: { ok: true, value: 1 } });
    said.length = 0;
    run("facts");
    expect(await end()).toMatchObject({ type: "returned", value: { deadline: null }, noticed: false });
  });
});

describe("what a body says after its end", () => {
  test("is not passed on as if the next one had said it", async () => {
    run("haunts", { args: [200] });
    await end();
    said.length = 0;
    run("unaware", { taskId: "t2", args: [60] });
    await end();
    expect([...of("save"), ...of("emit").filter(({ kind }) => kind === "ghost")]).toEqual([]);
  });
});

describe("signs of life", () => {
  test("are passed on as often as they are wanted, not more", async () => {
    run("quiet checkpoints", { activeGapMs: 60_000 });
    await until(() => of("emit").length > 0);
    await until(() => of("active").length === 1);
    carrier.receive({ type: "stop", message: "enough" });
    await end();
    expect(of("active")).toHaveLength(1);
  });

  test("are not passed on where nobody counts", async () => {
    run("quiet checkpoints");
    await until(() => of("emit").length > 0);
    carrier.receive({ type: "stop", message: "enough" });
    await end();
    expect(of("active")).toEqual([]);
  });
});

describe("an upstream value", () => {
  test("is asked for and handed to the body", async () => {
    run("asks upstream", { args: ["extract"] });
    await until(() => of("ask").length === 1);
    expect(of("ask")).toEqual([{ type: "ask", call: 1, node: "extract" }]);
    carrier.receive({ type: "answer", call: 1, answer: { ok: true, value: [1] } });
    expect(await end()).toMatchObject({ type: "returned", value: [1] });
  });

  test("that is refused throws in the body; a second answer is nobody's", async () => {
    run("asks upstream", { args: ["extract"] });
    await until(() => of("ask").length === 1);
    carrier.receive({ type: "answer", call: 1, answer: { ok: false, error: recordError(new RangeError("no such node")) } });
    carrier.receive({ type: "answer", call: 1, answer: { ok: true, value: [1] } });
    expect(await end()).toMatchObject({ type: "threw", error: { failure: { name: "RangeError", message: "no such node" } } });
  });
});

describe("between jobs", () => {
  test("it loads modules ahead and says whether the tasks are there", async () => {
    carrier.receive({ type: "load", tasks: [{ module, name: "returns" }] });
    await until(() => of("loaded").length === 1);
    carrier.receive({ type: "load", tasks: [{ module, name: "missing" }] });
    await until(() => of("loaded").length === 2);
    expect(of("loaded")).toMatchObject([{ error: null }, { error: { code: "CONFIGURATION" } }]);
  });

  test("it can be sent home", () => {
    carrier.receive({ type: "retire" });
    expect(retired).toBe(true);
  });
});
