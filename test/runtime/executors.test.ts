import { beforeEach, describe, expect, test } from "vitest";
import { ConfigurationError, TaskCancelled } from "../../src/core/errors.ts";
import type { Executor, TaskBody } from "../../src/core/ports/executor.ts";
import { AsyncExecutor } from "../../src/runtime/executors/async.ts";
import { InlineExecutor } from "../../src/runtime/executors/inline.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { launchRequest, settlementOf } from "./support/launch.ts";
import { Puppet } from "./support/puppet.ts";

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

const KINDS: readonly (readonly [string, (clock: FakeClock) => Executor])[] = [
  ["async", (own) => new AsyncExecutor(own)],
  ["inline", (own) => new InlineExecutor(own)],
];

const thrower = new Error("boom");

/** Something that has such a `then`. */
function withThen(then: unknown, something: object = {}): object {
  return defineThen(something, { value: then, enumerable: true });
}

function defineThen(something: object, descriptor: PropertyDescriptor): object {
  // oxlint-disable-next-line unicorn/no-thenable -- what bodies may return is the subject here
  return Object.defineProperty(something, "then", descriptor);
}

describe.each(KINDS)("%s", (kind, make) => {
  const returning: readonly (readonly [string, TaskBody, unknown])[] = [
    ["a value", () => 7, 7],
    ["nothing", () => {}, undefined],
    ["a promise", async () => await Promise.resolve("later"), "later"],
    ["a thenable that is no promise", () => withThen((give: (value: unknown) => void) => give("then")), "then"],
    [
      "a function with a then",
      () =>
        withThen(
          (give: (value: unknown) => void) => give("called"),
          () => 0,
        ),
      "called",
    ],
    ["an object whose then is no function", () => withThen(7), withThen(7)],
  ];
  test.each(returning)("settles as returned with %s", async (_what, body, value) => {
    const handle = make(clock).launch(launchRequest(body));
    expect(await settlementOf(handle)).toEqual({ type: "returned", value, noticed: false });
    expect(handle.running).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  const throwing: readonly (readonly [string, TaskBody])[] = [
    [
      "throws at once",
      () => {
        throw thrower;
      },
    ],
    ["rejects", async () => await Promise.reject(thrower)],
    [
      "gives a thenable whose then throws",
      () =>
        withThen(() => {
          throw thrower;
        }),
    ],
    [
      "gives a thenable that rejects, and then resolves too",
      () => withThen((give: (value: unknown) => void, take: (error: unknown) => void) => (take(thrower), give(1))),
    ],
  ];
  test.each(throwing)("settles as threw where the body %s", async (_what, body) => {
    const handle = make(clock).launch(launchRequest(body));
    expect(await settlementOf(handle)).toEqual({ type: "threw", error: thrower, noticed: false });
    expect(handle.running).toBe(false);
  });

  test("a value that may not even be looked at is returned like any other", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const settlement = await settlementOf(make(clock).launch(launchRequest(() => proxy)));
    expect(settlement).toMatchObject({ type: "returned" });
  });

  test("a then that throws when it is read never escapes", async () => {
    const hostile = defineThen(
      {},
      {
        get() {
          throw thrower;
        },
      },
    );
    expect(await settlementOf(make(clock).launch(launchRequest(() => hostile)))).not.toBe("open");
  });

  test("the body is given its context first, then the arguments, and says what it reports", async () => {
    const request = launchRequest(
      (ctx, ...args) => {
        ctx.log.warn("careful");
        ctx.progress({ done: 1 });
        ctx.emit("row", {});
        return [ctx.taskId, ctx.name, ctx.attempt, ctx.fencingToken, ctx.pipelineRunId, ctx.deadline, ...args];
      },
      { args: ["a", 2], attempt: 3, fencingToken: 9, deadlineAt: () => 77 },
    );
    expect(await settlementOf(make(clock).launch(request))).toMatchObject({ value: ["t1", "subject", 3, 9, null, 77, "a", 2] });
    expect(request.told).toEqual(["launched null", "warn careful", "progress 1", "emit row"]);
  });

  test.each([
    ["progress", (ctx: Parameters<TaskBody>[0]) => Reflect.apply(ctx.progress.bind(ctx), undefined, [null])],
    ["emit", (ctx: Parameters<TaskBody>[0]) => ctx.emit("", 1)],
  ] as const)("ctx.%s refuses nonsense with a ConfigurationError in the body", async (_what, body) => {
    const settlement = await settlementOf(make(clock).launch(launchRequest(body)));
    expect(settlement).toMatchObject({ type: "threw", error: expect.any(ConfigurationError) });
  });

  test("a body that hears the stop ends by itself, and the grace's timer is gone", async () => {
    const puppet = new Puppet();
    const handle = make(clock).launch(launchRequest(puppet.run));
    await clock.advance(0);
    handle.stop({ graceMs: 1_000, message: "stopped" });
    expect(clock.pendingTimers).toBe(1);
    expect(puppet.last.ctx.signal.aborted).toBe(true);
    puppet.last.throws(puppet.last.ctx.signal.reason);
    expect(await settlementOf(handle)).toMatchObject({ type: "threw", error: expect.any(TaskCancelled), noticed: true });
    expect(clock.pendingTimers).toBe(0);
  });

  test("a deaf body is abandoned at the end of the grace; running stays true until it ends after all", async () => {
    const puppet = new Puppet();
    const handle = make(clock).launch(launchRequest(puppet.run));
    await clock.advance(0);
    handle.stop({ graceMs: 1_000, message: "stopped" });
    await clock.advance(999);
    expect(await settlementOf(handle)).toBe("open");
    await clock.advance(1);
    expect(await settlementOf(handle)).toEqual({ type: "abandoned" });
    expect(handle.running).toBe(true);
    puppet.last.returns("late");
    expect(await handle.late).toEqual({ type: "returned", value: "late", noticed: false });
    expect(handle.running).toBe(false);
    // Sticky: what came later changed nothing.
    expect(await settlementOf(handle)).toEqual({ type: "abandoned" });
  });

  test("a grace of 0 abandons at once, though the body has this very turn", async () => {
    const puppet = new Puppet();
    const handle = make(clock).launch(launchRequest(puppet.run));
    await clock.advance(0);
    handle.stop({ graceMs: 0, message: "stopped" });
    await clock.advance(0);
    expect(await settlementOf(handle)).toEqual({ type: "abandoned" });
  });

  test("asked again, a shorter grace tightens the deadline and a longer one does not move it", async () => {
    const puppet = new Puppet();
    const handle = make(clock).launch(launchRequest(puppet.run));
    await clock.advance(0);
    handle.stop({ graceMs: 10_000, message: "stopped" });
    await clock.advance(1_000);
    handle.stop({ graceMs: 60_000, message: "again" });
    handle.stop({ graceMs: 2_000, message: "again" });
    handle.stop({ graceMs: 5_000, message: "again" });
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_999);
    expect(await settlementOf(handle)).toBe("open");
    await clock.advance(1);
    expect(await settlementOf(handle)).toEqual({ type: "abandoned" });
    handle.stop({ graceMs: 1, message: "again" });
    expect(clock.pendingTimers).toBe(0);
  });

  test("a stop of a body that has ended does nothing", async () => {
    const handle = make(clock).launch(launchRequest(() => 1));
    await settlementOf(handle);
    handle.stop({ graceMs: 1_000, message: "stopped" });
    expect(clock.pendingTimers).toBe(0);
    expect(await settlementOf(handle)).toMatchObject({ type: "returned" });
  });

  test(`says what it is: ${kind}`, async () => {
    const executor = make(clock);
    expect(executor.kind).toBe(kind);
    expect(executor.supports).toEqual({ pause: kind === "async", kill: false, closures: true, syncCheckpoint: false, beats: false });
    await executor.close();
  });
});

describe("when the body begins", () => {
  test("async: not on the launcher's stack", async () => {
    const request = launchRequest(() => 1);
    const handle = new AsyncExecutor(clock).launch(request);
    expect(request.told).toEqual([]);
    await settlementOf(handle);
    expect(request.told).toEqual(["launched null"]);
  });

  test("inline: in the launch itself, up to its first await", () => {
    const puppet = new Puppet();
    new InlineExecutor(clock).launch(launchRequest(puppet.run));
    expect(puppet.calls).toHaveLength(1);
  });

  test("async: stopped before it began, nothing ran and no launch is reported", async () => {
    const puppet = new Puppet();
    const request = launchRequest(puppet.run);
    const handle = new AsyncExecutor(clock).launch(request);
    handle.stop({ graceMs: 1_000, message: "stopped" });
    expect(await settlementOf(handle)).toMatchObject({ type: "threw", error: { code: "TASK_CANCELLED", message: expect.stringContaining("nothing ran") } });
    expect([puppet.calls.length, request.told.length, clock.pendingTimers]).toEqual([0, 0, 0]);
  });

  test("async: paused before it began, the first checkpoint holds it", async () => {
    let passed = false;
    const request = launchRequest(async (ctx) => {
      await ctx.checkpoint();
      passed = true;
    });
    const handle = new AsyncExecutor(clock).launch(request);
    handle.pause();
    await settlementOf(handle);
    expect([passed, request.told]).toEqual([false, ["launched null", "paused"]]);
    handle.resume();
    expect(await settlementOf(handle)).toMatchObject({ type: "returned" });
  });
});
