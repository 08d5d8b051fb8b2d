import { describe, expect, test } from "vitest";
import { createFailure } from "../../../src/core/failure.ts";
import { constant } from "../../../src/core/policies/backoff.ts";
import { dyingExecutor, FakeExecutor, hangingExecutor, silentExecutor, throwingExecutor } from "../../../src/testing/fake-executors.ts";
import { Supervised } from "./support/supervised.ts";

const ADA = { by: { actor: "ada", reason: null } } as const;
const BACKOFF = constant({ delay: "10s", jitter: "none" });

describe("an executor whose launch throws", () => {
  test("fails the attempt with what was thrown, and no carrier is left", async () => {
    const task = await Supervised.begin(() => throwingExecutor(new Error("no memory for a worker")));
    expect(await task.row()).toMatchObject({ status: "failed", failure: { kind: "exception", message: "no memory for a worker" }, owner: null });
    expect(task.engine.health.orphans).toBe(0);
  });

  test("is asked again as the retry policy says", async () => {
    const task = await Supervised.begin(() => throwingExecutor(new Error("no memory")), { retry: { maxAttempts: 3, backoff: BACKOFF } });
    expect(await task.row()).toMatchObject({ status: "retry_wait", attempt: 1 });
    await task.clock.advance("20s");
    expect(await task.row()).toMatchObject({ status: "failed", attempt: 3 });
    expect(task.fake.launches).toHaveLength(3);
  });
});

describe("an executor that hangs in the launch", () => {
  test("runs into the start timeout: what cannot be killed is lost and an orphan, and never rewritten by its late end", async () => {
    const task = await Supervised.begin((clock) => hangingExecutor(clock), { timeout: { start: "30s" } });
    await task.clock.advance("29s");
    expect(await task.row()).toMatchObject({ status: "starting" });
    await task.clock.advance("1s");
    const lost = await task.row();
    expect(lost).toMatchObject({ status: "lost", failure: { kind: "timeout_start", abandoned: true, forced: false }, owner: null });
    expect(task.fake.last.stops).toEqual([{ graceMs: 0, message: "the launch took longer than 30 s" }]);
    expect(task.engine.health.orphans).toBe(1);

    task.fake.last.settleLate({ type: "returned", value: "too late", noticed: false });
    expect(await task.row()).toMatchObject({ status: "lost", outcome: lost.outcome, statusVersion: lost.statusVersion });
    expect(task.engine.health.orphans).toBe(0);
    expect(task.events("TaskWarning").map(({ code }) => code)).toEqual(["abandoned_body_ended"]);
  });

  test("runs into the start timeout: what can be killed has failed by force, and is tried again", async () => {
    const task = await Supervised.begin((clock) => hangingExecutor(clock, { supports: { kill: true } }), {
      timeout: { start: "30s" },
      retry: { maxAttempts: 2, backoff: BACKOFF },
    });
    await task.clock.advance("30s");
    expect(await task.row()).toMatchObject({ status: "retry_wait", failure: { kind: "timeout_start", forced: true, abandoned: false, signal: "SIGKILL" } });
    expect(task.engine.health.orphans).toBe(0);
    await task.clock.advance("10s");
    expect(await task.row()).toMatchObject({ status: "starting", attempt: 2 });
  });

  test("waits for ever without a start timeout, and is lost at the end of a stop's grace", async () => {
    const task = await Supervised.begin((clock) => hangingExecutor(clock), { timeout: { attempt: "1m", idle: "1m" } });
    await task.clock.advance("1h");
    expect(await task.row()).toMatchObject({ status: "starting" });
    const stopped = task.engine.control.halt(task.cell, "stop", { ...ADA, graceMs: 5_000 });
    await task.clock.advance("4s");
    expect(await task.row()).toMatchObject({ status: "stopping" });
    await task.clock.advance("1s");
    expect(await stopped).toMatchObject({ status: "lost", failure: { abandoned: true } });
  });

  test("is not resumed by a pause that came meanwhile: the launch was never paused", async () => {
    const task = await Supervised.begin((clock) => hangingExecutor(clock));
    const paused = task.engine.control.pause(task.cell, { ...ADA, pauseTimeoutMs: 1_000 });
    await task.clock.advance("2s");
    expect(await task.row()).toMatchObject({ status: "pausing" });
    task.fake.last.launched();
    expect(await paused).toBe(false);
    expect(await task.row()).toMatchObject({ status: "running" });
    expect(task.events("TaskWarning").map(({ code }) => code)).toEqual(["pause_rolled_back"]);
  });
});

describe("an executor that loses heartbeats", () => {
  test("has none on the record since its launch: nobody beats in its place", async () => {
    const task = await Supervised.begin((clock) => silentExecutor(clock));
    const launchedAt = task.clock.now();
    await task.clock.advance("1h");
    expect(await task.row()).toMatchObject({ status: "running", lastHeartbeatAt: launchedAt });
    expect(task.events("TaskHeartbeat")).toEqual([]);
  });

  test("runs into the idle timeout: asked first, then lost, where it cannot be killed", async () => {
    const task = await Supervised.begin((clock) => silentExecutor(clock), { timeout: { idle: "1m" } });
    await task.clock.advance("1m");
    expect(await task.row()).toMatchObject({ status: "running", requestedAction: null });
    expect(task.fake.last.stops).toEqual([{ graceMs: 5_000, message: "the task showed no sign of life for 1 m" }]);
    await task.clock.advance("5s");
    expect(await task.row()).toMatchObject({ status: "lost", failure: { kind: "timeout_idle", abandoned: true } });
  });

  test("runs into the idle timeout: asked first, then failed by force, where it can be killed", async () => {
    const task = await Supervised.begin((clock) => silentExecutor(clock, { supports: { kill: true } }), { timeout: { idle: "1m" } });
    await task.clock.advance("65s");
    expect(await task.row()).toMatchObject({ status: "failed", failure: { kind: "timeout_idle", forced: true, abandoned: false } });
  });

  test("is idle though its carrier beats, and is not while it says that it is active", async () => {
    const task = await Supervised.begin((clock) => silentExecutor(clock), { timeout: { idle: "1m" } });
    for (let minute = 0; minute < 3; minute += 1) {
      await task.clock.advance("50s");
      task.fake.last.request.reports.active();
    }
    task.fake.last.request.reports.beat();
    expect(await task.row()).toMatchObject({ status: "running", lastHeartbeatAt: task.clock.now() });
    await task.clock.advance("50s");
    task.fake.last.request.reports.beat();
    await task.clock.advance("10s");
    expect(task.fake.last.stops).toHaveLength(1);
    expect(task.events("TaskHeartbeat")).toHaveLength(2);
  });
});

describe("an executor that does not beat by itself", () => {
  test("is beaten for every 5 s, while its carrier says that it runs", async () => {
    const task = await Supervised.begin(() => new FakeExecutor());
    task.fake.last.launched();
    await task.clock.advance("11s");
    expect(task.events("TaskHeartbeat")).toHaveLength(2);
    task.fake.last.running = false;
    await task.clock.advance("1m");
    expect(task.events("TaskHeartbeat")).toHaveLength(2);
  });
});

describe("an executor whose carriers die without a word", () => {
  test("fails the attempt with the exit code and the signal, and is tried again", async () => {
    const task = await Supervised.begin(() => dyingExecutor(), { retry: { maxAttempts: 2, backoff: BACKOFF } });
    expect(await task.row()).toMatchObject({ status: "retry_wait", failure: { kind: "nonzero_exit", exitCode: 137, signal: "SIGKILL" } });
    await task.clock.advance("10s");
    expect(await task.row()).toMatchObject({ status: "failed", attempt: 2 });
  });

  test("has failed, not stopped, where it dies in the grace of a stop", async () => {
    const task = await Supervised.begin(() => new FakeExecutor());
    task.fake.last.launched(4_711);
    expect(await task.row()).toMatchObject({ status: "running", pid: 4_711 });
    const stopped = task.engine.control.halt(task.cell, "stop", ADA);
    await task.row();
    task.fake.last.settle({ type: "died", failure: createFailure({ kind: "nonzero_exit", message: "out of memory", exitCode: 1 }) });
    expect(await stopped).toMatchObject({ status: "failed", failure: { kind: "nonzero_exit", message: "out of memory" } });
  });
});

describe("an executor that breaks its promises", () => {
  test("changes nothing by what it reports after the end", async () => {
    const task = await Supervised.begin(() => new FakeExecutor());
    const { reports } = task.fake.last.request;
    task.fake.last.launched();
    task.fake.last.settle({ type: "returned", value: 7, noticed: false });
    const before = await task.row();
    const steps = await task.steps();
    reports.launched(1);
    reports.pauseReached();
    reports.stopSeen();
    reports.active();
    reports.beat();
    reports.progress({ done: 1, total: 2 });
    reports.save("ghost");
    task.fake.last.settle({ type: "abandoned" });
    await task.clock.advance("1m");
    expect(await task.row()).toEqual(before);
    expect(await task.steps()).toEqual(steps);
    expect(before).toMatchObject({ status: "succeeded" });
    expect(task.engine.health.orphans).toBe(0);
  });

  test("and kills what nobody asked it to kill, has failed it", async () => {
    const task = await Supervised.begin(() => new FakeExecutor({ supports: { kill: true } }));
    task.fake.last.launched();
    task.fake.last.settle({ type: "killed", exitCode: null, signal: "SIGKILL" });
    expect(await task.row()).toMatchObject({ status: "failed", failure: { kind: "nonzero_exit", forced: true } });
  });

  test("and reports a pause that nobody asked for, holds nothing", async () => {
    const task = await Supervised.begin(() => new FakeExecutor());
    task.fake.last.launched();
    task.fake.last.request.reports.pauseReached();
    expect(await task.row()).toMatchObject({ status: "running" });
  });

  test("reports its launch twice: the second changes nothing", async () => {
    const task = await Supervised.begin(() => new FakeExecutor());
    task.fake.last.launched(1);
    task.fake.last.launched(2);
    expect(await task.row()).toMatchObject({ status: "running", pid: 1 });
    expect((await task.steps()).filter((step) => step === "starting → running")).toHaveLength(1);
  });
});

test("every fake is closed with the controller", async () => {
  const task = await Supervised.begin(() => new FakeExecutor());
  const closed = task.engine.close(0);
  await task.row();
  task.fake.last.settle({ type: "abandoned" });
  await closed;
  expect(task.fake.isClosed).toBe(true);
});
