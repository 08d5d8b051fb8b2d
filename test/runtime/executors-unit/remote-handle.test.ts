import { beforeEach, describe, expect, test } from "vitest";
import { recordError } from "../../../src/core/error-record.ts";
import type { LaunchRequest, Settlement } from "../../../src/core/ports/executor.ts";
import type { CarrierLink, CarrierListener } from "../../../src/runtime/executors/carrier-link.ts";
import type { FromCarrier, Job, ToCarrier } from "../../../src/runtime/executors/protocol.ts";
import type { RemoteCarrier } from "../../../src/runtime/executors/remote-handle.ts";
import { RemoteHandle } from "../../../src/runtime/executors/remote-handle.ts";
import { ReportRecorder } from "../../../src/testing/executor-recorder.ts";
import { FakeClock } from "../../../src/testing/fake-clock.ts";

class FakeLink implements CarrierLink {
  readonly pid = 4_711;
  alive = true;
  listener: CarrierListener | null = null;
  /** Posting throws this. */
  refuses: Error | null = null;

  post(message: ToCarrier): void {
    if (this.refuses !== null) throw this.refuses;
    done.push(message);
  }

  warn(): void {
    done.push("warn");
  }

  kill(): void {
    done.push("kill");
  }

  says(message: FromCarrier): void {
    this.listener?.message(message);
  }

  exits(exitCode: number | null, signal: string | null = null, reason: string | null = null): void {
    this.alive = false;
    this.listener?.exited({ exitCode, signal, reason });
  }
}

const STOP = { graceMs: 4_000, message: "stopped" } as const;

let clock: FakeClock;
let link: FakeLink;
let reports: ReportRecorder;
let done: unknown[];
let earlier: RemoteCarrier["earlier"];
let job: Job;

beforeEach(() => {
  clock = new FakeClock();
  link = new FakeLink();
  reports = new ReportRecorder();
  done = [];
  earlier = null;
  job = {
    taskId: "t1",
    pipelineRunId: null,
    name: "extract",
    attempt: 1,
    fencingToken: 1,
    module: "file:///tasks.ts",
    args: [],
    deadlineAt: null,
    asksToBegin: false,
    activeGapMs: null,
    artifacts: "/nowhere",
  };
});

function begin(changes: Partial<LaunchRequest> = {}): RemoteHandle {
  const request: LaunchRequest = {
    ...job,
    saved: undefined,
    run: () => undefined,
    startMs: null,
    idleMs: null,
    deadlineAt: () => 500,
    upstream: async () => await Promise.resolve("value"),
    reports,
    ...changes,
  };
  const handle = new RemoteHandle(clock, request, {
    link,
    job,
    word: "worker thread",
    giveBack: () => {
      link.listener = null;
      done.push("given back");
    },
    discard: () => void done.push("discarded"),
    earlier,
    refusal: (error) => new TypeError("refused", { cause: error }),
  });
  handle.begin();
  return handle;
}

function begun(changes: Partial<LaunchRequest> = {}): RemoteHandle {
  const handle = begin(changes);
  link.says({ type: "launched" });
  done.length = 0;
  return handle;
}

async function endOf(promise: Promise<Settlement>): Promise<Settlement | "pending"> {
  let end: Settlement | "pending" = "pending";
  void promise.then((settlement) => (end = settlement));
  await clock.advance(0);
  return end;
}

describe("a launch", () => {
  test("hands over the job, and the deadline once user code runs", () => {
    const handle = begin();
    expect(done).toEqual([{ type: "run", job }]);
    expect(reports.all).toEqual([]);
    link.says({ type: "launched" });
    expect(reports.all).toEqual([{ type: "launched", values: [4_711] }]);
    expect(done.at(-1)).toEqual({ type: "deadline", at: 500 });
    expect({ running: handle.running, pid: handle.pid }).toEqual({ running: true, pid: 4_711 });
  });

  test("of a job that cannot be sent ends with the refusal; the carrier is as good as before", async () => {
    link.refuses = new Error("could not be cloned");
    const handle = begin();
    expect(await endOf(handle.settled)).toMatchObject({ type: "threw", error: { message: "refused", cause: link.refuses }, noticed: false });
    expect(done).toEqual(["given back"]);
    expect(handle.running).toBe(false);
  });

  test("on a carrier that dies before user code says that nothing ran", async () => {
    const handle = begin();
    link.exits(1);
    expect(await endOf(handle.settled)).toMatchObject({
      type: "died",
      failure: { kind: "nonzero_exit", exitCode: 1, message: "the worker thread exited with code 1 without an outcome: nothing ran" },
    });
  });
});

describe("a launch that is timed", () => {
  test("begins when the carrier is ready: reported first, then allowed, with its deadline", () => {
    begin();
    done.length = 0;
    link.says({ type: "ready" });
    expect(reports.all).toEqual([{ type: "launched", values: [4_711] }]);
    expect(done).toEqual([{ type: "deadline", at: 500 }, { type: "begin" }]);
  });

  test("does not begin once it was asked to end, whatever the grace; nor is it said to have been launched", async () => {
    for (const graceMs of [0, 5_000]) {
      begin().stop({ graceMs, message: "too late" });
      done.length = 0;
      link.says({ type: "ready" });
      expect(done).toEqual([]);
      expect(reports.of("launched")).toEqual([]);
    }
  });

  test("does not begin on a carrier that is being killed", async () => {
    const handle = begin();
    handle.stop({ graceMs: 0, message: "too late" });
    await clock.advance(0);
    link.says({ type: "ready" });
    expect(reports.of("launched")).toEqual([]);
    link.exits(null, "SIGKILL");
    expect(await endOf(handle.settled)).toEqual({ type: "killed", exitCode: null, signal: "SIGKILL" });
  });
});

describe("the death of a carrier on which nothing ran", () => {
  test("says its last line on stderr, which is neither a stack's nor Node's version", async () => {
    const handle = begin();
    for (const text of ["a warning", "Error: no such module", "    at load (file.ts:1:1)", "}", "", "Node.js v24.0.0"])
      link.says({ type: "output", stream: "stderr", text });
    link.says({ type: "output", stream: "stdout", text: "hello" });
    link.exits(1);
    expect(await endOf(handle.settled)).toMatchObject({
      failure: { message: "the worker thread exited with code 1 without an outcome: nothing ran; its last line on stderr: Error: no such module" },
    });
  });
});

describe("the end", () => {
  test("is what the carrier says, once; the carrier is given back before", async () => {
    const handle = begun();
    link.says({ type: "returned", value: 7, noticed: false });
    expect(done).toEqual(["given back"]);
    expect(await endOf(handle.settled)).toEqual({ type: "returned", value: 7, noticed: false });
    expect(await endOf(handle.late)).toBe("pending");
    expect(handle.running).toBe(false);
    handle.stop(STOP);
    handle.pause();
    handle.resume();
    expect(done).toEqual(["given back"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("by an error is the error anew, and noticed as the carrier says", async () => {
    const handle = begun();
    link.says({ type: "threw", error: recordError(Object.assign(new RangeError("too far"), { code: "E_FAR" })), noticed: true });
    expect(await endOf(handle.settled)).toMatchObject({ type: "threw", error: { name: "RangeError", message: "too far", code: "E_FAR" }, noticed: true });
  });

  test.each([
    [3, null, null, "the worker thread exited with code 3 without an outcome"],
    [null, "SIGSEGV", null, "the worker thread was ended by SIGSEGV without an outcome"],
    [null, null, null, "the worker thread exited with code unknown without an outcome"],
    [1, null, "ran out of memory (resourceLimits)", "the worker thread ran out of memory (resourceLimits) without an outcome"],
  ])("by a death of the carrier (%s, %s, %s) is unknown, with what is known", async (exitCode, signal, reason, message) => {
    const handle = begun();
    link.exits(exitCode, signal, reason);
    const failure = { kind: "nonzero_exit", exitCode, signal, retryable: true, message: `${message}: the outcome is unknown, side effects are possible` };
    expect(await endOf(handle.settled)).toMatchObject({ type: "died", failure });
    expect(done).toEqual(["discarded"]);
  });
});

describe("the death of a child by SIGABRT", () => {
  test.each([
    ["FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", /ended by SIGABRT, probably because it ran out of memory/],
    ["Assertion failed", /ended by SIGABRT without an outcome/],
  ])("after %s on stderr", async (text, says) => {
    const handle = begun();
    link.says({ type: "output", stream: "stderr", text });
    link.says({ type: "output", stream: "stderr", text: "more" });
    link.exits(null, "SIGABRT");
    expect(await endOf(handle.settled)).toMatchObject({ failure: { signal: "SIGABRT", message: expect.stringMatching(says) } });
  });
});

describe("the death of a carrier that had tasks before", () => {
  const SUSPICION = /Other tasks ran in this worker thread before, the last of them "hog" \(t0\): what one of them left running may be the cause$/;

  test.each([true, false])("may be their doing, and says so (begun: %s)", async (isBegun) => {
    earlier = { taskId: "t0", name: "hog" };
    const handle = isBegun ? begun() : begin();
    link.exits(1);
    expect(await endOf(handle.settled)).toMatchObject({ type: "died", failure: { message: expect.stringMatching(SUSPICION) } });
  });

  test("is not, where the body has called for it itself", async () => {
    earlier = { taskId: "t0", name: "hog" };
    const handle = begun();
    link.says({ type: "ending" });
    link.exits(3);
    expect(await endOf(handle.settled)).toMatchObject({ failure: { message: expect.stringMatching(/side effects are possible$/) } });
  });
});

describe("a carrier is not used again", () => {
  test("after a SIGTERM, which may still be on its way", async () => {
    const handle = begun();
    handle.stop(STOP);
    await clock.advance("3s");
    link.says({ type: "returned", value: 7, noticed: false });
    expect(done.slice(-2)).toEqual(["warn", "discarded"]);
    expect(await endOf(handle.settled)).toMatchObject({ type: "returned", value: 7 });
  });

  test("where its attempt was stopped", async () => {
    const handle = begun();
    handle.stop(STOP);
    link.says({ type: "threw", error: recordError(new Error("stopped")), noticed: true });
    expect(done.at(-1)).toBe("discarded");
    expect(await endOf(handle.settled)).toMatchObject({ type: "threw", noticed: true });
  });
});

describe("a stop", () => {
  test("asks, warns, kills, and has killed once the carrier is gone", async () => {
    const handle = begun();
    handle.stop(STOP);
    expect(done).toEqual([{ type: "stop", message: "stopped" }]);
    await clock.advance("3s");
    expect(done.at(-1)).toBe("warn");
    await clock.advance("1s");
    expect(done.at(-1)).toBe("kill");
    expect(await endOf(handle.settled)).toBe("pending");
    expect(handle.running).toBe(true);
    link.exits(null, "SIGKILL");
    expect(await endOf(handle.settled)).toEqual({ type: "killed", exitCode: null, signal: "SIGKILL" });
    expect(handle.running).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  test("that ends the carrier by its warning has killed it", async () => {
    const handle = begun();
    handle.stop(STOP);
    await clock.advance("3s");
    link.exits(null, "SIGTERM");
    expect(await endOf(handle.settled)).toEqual({ type: "killed", exitCode: null, signal: "SIGTERM" });
  });

  test("in whose grace the carrier dies by itself has killed nothing", async () => {
    const handle = begun();
    handle.stop(STOP);
    await clock.advance("1s");
    link.exits(134, "SIGABRT");
    expect(await endOf(handle.settled)).toMatchObject({ type: "died", failure: { signal: "SIGABRT" } });
  });

  test("whose grace ends while the exit is on its way has killed nothing either", async () => {
    const handle = begun();
    link.alive = false;
    handle.stop(STOP);
    await clock.advance("10s");
    expect(done).toEqual([{ type: "stop", message: "stopped" }]);
    link.exits(3);
    expect(await endOf(handle.settled)).toMatchObject({ type: "died", failure: { exitCode: 3 } });
  });

  test("that has killed does not hear an end that was on its way", async () => {
    const handle = begun();
    handle.stop({ graceMs: 0, message: "now" });
    await clock.advance(0);
    link.says({ type: "returned", value: "too late", noticed: false });
    expect(await endOf(handle.settled)).toBe("pending");
    link.exits(null, "SIGKILL");
    expect(await endOf(handle.settled)).toMatchObject({ type: "killed" });
  });

  test("of a carrier that does not go is given up after 2 s: abandoned, running, and its late end is told", async () => {
    const handle = begun();
    handle.stop({ graceMs: 0, message: "now" });
    await clock.advance("1999ms");
    expect(await endOf(handle.settled)).toBe("pending");
    await clock.advance("1ms");
    expect(await endOf(handle.settled)).toEqual({ type: "abandoned" });
    expect({ running: handle.running, last: done.at(-1) }).toEqual({ running: true, last: "discarded" });
    link.exits(1);
    expect(await endOf(handle.late)).toEqual({ type: "killed", exitCode: 1, signal: null });
    expect(await endOf(handle.settled)).toEqual({ type: "abandoned" });
    expect(handle.running).toBe(false);
  });
});

describe("wishes", () => {
  test("a body that goes on knows its new deadline first", () => {
    let deadline = 500;
    const handle = begun({ deadlineAt: () => deadline });
    handle.pause();
    deadline = 900;
    handle.resume();
    expect(done).toMatchObject([{ type: "pause" }, { type: "deadline", at: 900 }, { type: "resume" }]);
  });
});

describe("reports", () => {
  test("go on to the supervisor as they come", () => {
    begun();
    const said: readonly FromCarrier[] = [
      { type: "stopSeen" },
      { type: "active" },
      { type: "beat" },
      { type: "progress", report: { done: 1 } },
      { type: "log", level: "warn", message: "m", fields: { row: 1 } },
      { type: "emit", kind: "k", payload: 1 },
      { type: "output", stream: "stderr", text: "line" },
      { type: "save", state: 2 },
      { type: "loaded", error: null },
    ];
    for (const message of said) link.says(message);
    expect(reports.all.slice(1).map(({ type, values }) => [type, ...values])).toEqual([
      ["stopSeen"],
      ["active"],
      ["beat"],
      ["progress", { done: 1 }],
      ["log", "warn", "m", { row: 1 }],
      ["emit", "k", 1],
      ["emit", "stderr", "line"],
      ["save", 2],
    ]);
  });

  test("a stray is this attempt's own, not one of a task that ran here before", () => {
    begun();
    link.says({ type: "stray", taskId: "another", attempt: 1, error: recordError(new Error("theirs")) });
    link.says({ type: "stray", taskId: "t1", attempt: 2, error: recordError(new Error("another attempt's")) });
    link.says({ type: "stray", taskId: "t1", attempt: 1, error: recordError(new Error("ours")) });
    expect(reports.of("stray")).toMatchObject([[{ message: "ours" }]]);
  });
});

describe("a question for an upstream value", () => {
  test("is answered", async () => {
    begun();
    link.says({ type: "ask", call: 3, node: "extract" });
    await clock.advance(0);
    expect(done).toEqual([{ type: "answer", call: 3, answer: { ok: true, value: "value" } }]);
  });

  test("is answered with the refusal", async () => {
    begun({ upstream: async () => await Promise.reject(new RangeError("no such node")) });
    link.says({ type: "ask", call: 3, node: "extract" });
    await clock.advance(0);
    expect(done).toMatchObject([{ type: "answer", call: 3, answer: { ok: false, error: { failure: { name: "RangeError", message: "no such node" } } } }]);
  });

  test("is not answered once the attempt is over", async () => {
    begun();
    link.says({ type: "ask", call: 3, node: "extract" });
    link.says({ type: "returned", value: 1, noticed: false });
    await clock.advance(0);
    expect(done).toEqual(["given back"]);
  });
});
