import { beforeEach, describe, expect, test } from "vitest";
import { StoreError } from "../../src/core/errors.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import { Outbox } from "../../src/runtime/outbox.ts";
import type { TaskEvent } from "../../src/core/events.ts";
import { Puppet } from "./support/puppet.ts";
import { ADA, Rig } from "./support/rig.ts";

const MOST = 1_000;

function line(message: string): TaskEvent {
  const head = { eventId: message, at: 0, taskId: "t1", pipelineRunId: null, name: "subject", node: null };
  return { type: "TaskLogLine", ...head, level: "info", message, fields: {} };
}

function textsOf(events: readonly TaskEvent[]): readonly string[] {
  return events.map((event) => (event.type === "TaskLogLine" ? event.message : event.type));
}

function fill(outbox: Outbox, from: number, to: number): readonly boolean[] {
  return Array.from({ length: to - from }, (_item, index) => outbox.add(line(String(from + index))));
}

describe("an outbox", () => {
  test("hands over in order what was put into it, once", () => {
    const outbox = new Outbox();
    fill(outbox, 0, 3);
    expect(textsOf(outbox.drain())).toEqual(["0", "1", "2"]);
    expect(outbox.drain()).toEqual([]);
    expect(outbox.takeAhead()).toEqual([]);
  });

  test("keeps 1,000: the oldest makes room, and how many did is counted", () => {
    const outbox = new Outbox();
    expect(fill(outbox, 0, MOST).every(Boolean)).toBe(true);
    expect([outbox.dropped, ...fill(outbox, MOST, MOST + 3), outbox.dropped]).toEqual([0, false, false, false, 3]);
    const texts = textsOf(outbox.drain());
    expect([texts.length, texts[0], texts.at(-1)]).toEqual([MOST, "3", String(MOST + 2)]);
    expect([outbox.dropped, outbox.add(line("next"))]).toEqual([0, true]);
  });

  test("counts what goes out ahead of a step until that is stored", () => {
    const outbox = new Outbox();
    fill(outbox, 0, MOST - 1);
    const ahead = outbox.takeAhead();
    expect(fill(outbox, MOST - 1, MOST + 1)).toEqual([true, false]);
    expect(textsOf(outbox.takeAhead())).toEqual([String(MOST)]);
    // Full of what is on its way: what comes now has no room at all.
    expect(outbox.add(line("no room"))).toBe(false);
    expect(outbox.takeAhead()).toEqual([]);
    outbox.sent(ahead.length);
    expect(fill(outbox, 0, MOST).filter((kept) => !kept)).toHaveLength(1);
  });
});

describe("a task that says much while the store is away", () => {
  let rig: Rig;
  let puppet: Puppet;

  beforeEach(async () => {
    rig = await Rig.open();
    puppet = new Puppet();
  });

  /** The messages that the task has logged, as published. */
  function logged(cell: Cell): readonly string[] {
    return rig.events.flatMap((event) => (event.type === "TaskLogLine" && event.taskId === cell.taskId ? [event.message] : []));
  }

  /** Its pause is decided and cannot be stored. */
  async function storeless(): Promise<Cell> {
    const cell = await rig.submit(puppet.run);
    rig.store.fail("commit", new StoreError("the disk is full", { transient: true }), { times: Number.POSITIVE_INFINITY });
    void rig.engine.control.pause(cell, ADA);
    await rig.settle();
    return cell;
  }

  function say(from: number, to: number): void {
    for (let index = from; index < to; index += 1) puppet.last.ctx.log.info(String(index));
  }

  test("loses the oldest beyond 1,000, is logged once, and no step is lost", async () => {
    const cell = await storeless();
    say(0, 2_500);
    void rig.engine.control.resume(cell, ADA);
    say(2_500, 2_600);
    expect(logged(cell)).toEqual([]);
    expect(rig.said.filter((text) => text.startsWith("warn"))).toEqual(["warn: a task says more than can wait until the store is back; the oldest is dropped"]);
    rig.store.heal();
    await rig.clock.advance("2s");
    expect(logged(cell)).toHaveLength(MOST);
    expect(logged(cell)[0]).toBe("1500");
    expect(await rig.steps(cell)).toEqual(expect.arrayContaining(["running → pausing (user:pause)", "pausing → running (user:resume)"]));
    // All that room is there again, what went out ahead of the resume included.
    rig.store.fail("commit", new StoreError("the disk is full", { transient: true }), { times: Number.POSITIVE_INFINITY });
    void rig.engine.control.pause(cell, ADA);
    say(0, MOST);
    rig.store.heal();
    await rig.clock.advance("2s");
    expect(logged(cell)).toHaveLength(2 * MOST);
    expect(rig.said.filter((text) => text.startsWith("warn"))).toHaveLength(1);
  });

  test("loses nothing up to 1,000, and it all comes in order", async () => {
    const cell = await storeless();
    say(0, MOST);
    rig.store.heal();
    await rig.clock.advance("2s");
    expect(logged(cell)).toEqual(Array.from({ length: MOST }, (_item, index) => String(index)));
    expect(rig.said.filter((text) => text.startsWith("warn"))).toEqual([]);
  });

  test("is told of again when the store is away again", async () => {
    const cell = await storeless();
    say(0, MOST + 1);
    rig.store.heal();
    await rig.clock.advance("2s");
    rig.store.fail("commit", new StoreError("the disk is full", { transient: true }), { times: Number.POSITIVE_INFINITY });
    void rig.engine.control.resume(cell, ADA);
    say(0, MOST + 2);
    expect(rig.said.filter((text) => text.startsWith("warn"))).toHaveLength(2);
  });
});
