import { describe, expect, test } from "vitest";
import { task } from "../../src/index.ts";
import type { TaskContext, TaskEvent } from "../../src/index.ts";
import { openStage } from "./stage.ts";

/** What each attempt found. */
function saving(states: readonly unknown[], { endsAt = Number.POSITIVE_INFINITY }: { readonly endsAt?: number } = {}) {
  const seen: unknown[] = [];
  const subject = task({ name: "saving" }, async (ctx: TaskContext) => {
    seen.push(ctx.saved);
    ctx.save(states[seen.length - 1]);
    if (seen.length < endsAt) throw new Error("again");
    return "done";
  });
  return { seen, subject };
}

describe("what an attempt saved is there for the next, whoever asked for it", () => {
  test.each(["stop", "cancel"] as const)("after a %s and a retry by hand", async (verb) => {
    const seen: unknown[] = [];
    const counting = task({ name: "counting" }, async (ctx: TaskContext) => {
      seen.push(ctx.saved);
      ctx.save({ done: seen.length });
      for (;;) {
        await ctx.checkpoint();
        await stage.sleep(10);
      }
    });
    const opened = await openStage({ tasks: [counting] });
    const stage = { ...opened, sleep: async (ms: number) => await new Promise<void>((resolve) => void opened.clock.setTimer(ms, resolve)) };
    const handle = await opened.controller.submit(counting);
    for (let round = 0; round < 3; round += 1) {
      await opened.clock.advance(0);
      const ended = opened.controller[verb](handle.id);
      await opened.clock.advance(20);
      await ended;
      await handle.retry();
    }
    await opened.clock.advance(0);
    expect(seen).toEqual([undefined, { done: 1 }, { done: 2 }, { done: 3 }]);
    await opened[Symbol.asyncDispose]();
  });

  test("after a failure with no attempt left, and undefined forgets it", async () => {
    const { seen, subject } = saving([[new Date(5), 1n], undefined, 7]);
    await using stage = await openStage({ tasks: [subject] });
    const handle = await stage.controller.submit(subject);
    for (let round = 0; round < 3; round += 1) {
      await stage.clock.advance(0);
      await handle.retry();
    }
    await stage.clock.advance(0);
    expect(seen).toEqual([undefined, [new Date(5), 1n], undefined, 7]);
  });

  test("success forgets it, and so does reset", async () => {
    const { seen, subject } = saving([1, 2, 3, 4], { endsAt: 3 });
    await using stage = await openStage({ tasks: [subject] });
    const handle = await stage.controller.submit(subject);
    await stage.clock.advance(0);
    await stage.controller.reset(handle.id, { actor: "ada", reason: "anew", confirm: true });
    await stage.controller.start(handle.id);
    await stage.clock.advance(0);
    await handle.retry();
    await stage.clock.advance(0);
    expect(await handle.snapshot()).toMatchObject({ status: "succeeded" });
    await stage.controller.forceTransition(handle.id, "queued", { actor: "ada", reason: "once more" });
    await stage.clock.advance(0);
    expect(seen).toEqual([undefined, undefined, 2, undefined]);
  });
});

test("what cannot be stored is a warning that says why; the state saved before stays", async () => {
  const loop: unknown[] = [];
  loop.push(loop);
  const { seen, subject } = saving(["first", loop, "third"]);
  await using stage = await openStage({ tasks: [subject] });
  const warnings: TaskEvent[] = [];
  void (async () => {
    for await (const event of stage.controller.events({ types: ["TaskWarning"] })) warnings.push(event);
  })();
  const handle = await stage.controller.submit(subject);
  for (let round = 0; round < 2; round += 1) {
    await stage.clock.advance(0);
    await handle.retry();
  }
  await stage.clock.advance(0);
  expect(seen).toEqual([undefined, "first", "first"]);
  expect(warnings).toMatchObject([{ code: "state_not_stored", message: expect.stringMatching(/^saved\[0\] cannot be stored/) }]);
});
