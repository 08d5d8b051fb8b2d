import { expect, it } from "vitest";
import { definePipeline, task } from "../../src/index.ts";
import type { Timer } from "../../src/core/ports/clock.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { gate, openStage } from "./stage.ts";

/** Counts each time that anything is woken by time, and by a turn of the loop: what follows a write. */
class WakefulClock extends FakeClock {
  wakeUps = 0;
  turns = 0;
  set = 0;

  override setTimer(delayMs: number, fire: () => void): Timer {
    this.set += 1;
    return super.setTimer(delayMs, () => {
      this.wakeUps += 1;
      fire();
    });
  }

  override async turn(): Promise<void> {
    this.turns += 1;
    await super.turn();
  }
}

const door = gate();
const quick = task({ name: "quick", tags: ["io"] }, () => 1);
const slow = task({ name: "slow", tags: ["io"] }, async () => await door.opened);
const flow = definePipeline("flow", {}, (p) => {
  const first = p.add(slow, { name: "first" });
  p.add(quick, { deps: [first] });
});

it("a controller with nothing to do sets no timer and is never woken", async () => {
  const clock = new WakefulClock();
  await using stage = await openStage({ clock, tasks: [quick, slow], pipelines: [flow], buckets: { count: 4 }, concurrency: { aging: "1m" } });
  await stage.clock.advance("1d");
  expect([clock.set, clock.wakeUps, clock.turns]).toEqual([0, 0, 0]);
  await (await stage.controller.submit(quick)).result();
  await clock.turn();
  const { set, wakeUps, turns } = clock;
  expect(clock.pendingTimers).toBe(0);
  await clock.advance("1d");
  expect([clock.set, clock.wakeUps, clock.turns]).toEqual([set, wakeUps, turns]);
});

it("a queue that waits sets no timer, whatever it waits for; a delay sets one, which fires once", async () => {
  const clock = new WakefulClock();
  await using stage = await openStage({ clock, tasks: [quick], buckets: { count: 4 }, concurrency: { aging: "1m" } });
  const { controller } = stage;
  await controller.hold({ name: "quick" });
  for (let i = 0; i < 100; i += 1) await controller.submit(quick);
  const paused = await controller.submit(quick);
  await paused.pause();
  await controller.explain(paused.id);
  await clock.advance(0);
  const { turns } = clock;
  await clock.advance("1d");
  expect([clock.set, clock.wakeUps, clock.turns]).toEqual([0, 0, turns]);
  for (let i = 0; i < 100; i += 1) await controller.submit(quick, [], { delay: "1h" });
  expect(clock.pendingTimers).toBe(1);
  await clock.advance("1d");
  expect([clock.pendingTimers, clock.wakeUps]).toEqual([0, 1]);
  expect(await controller.stats()).toMatchObject({ queued: 200, paused: 1 });
});

it("a run whose nodes wait has no timers of its own", async () => {
  const clock = new WakefulClock();
  await using stage = await openStage({ clock, tasks: [quick, slow], pipelines: [flow], concurrency: { limits: { io: 1 } } });
  await stage.controller.hold({ tag: "io" });
  const run = await stage.controller.startRun(flow);
  await clock.advance(0);
  const { turns } = clock;
  await clock.advance("1d");
  expect([clock.set, clock.wakeUps, clock.turns]).toEqual([0, 0, turns]);
  await stage.controller.release({ tag: "io" });
  door.open();
  expect(await run.wait({ timeout: "none" })).toMatchObject({ status: "succeeded" });
});
