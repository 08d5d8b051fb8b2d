import { beforeEach, describe, expect, test } from "vitest";
import type { TaskEvent } from "../../src/core/events.ts";
import { isTerminal } from "../../src/core/transitions.ts";
import { follow } from "../../src/runtime/event-feed.ts";
import type { FollowOptions } from "../../src/runtime/event-feed.ts";
import { Puppet } from "./support/puppet.ts";
import { Rig } from "./support/rig.ts";

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
});

function feed(taskId: string, given: Partial<FollowOptions> = {}): AsyncGenerator<TaskEvent, void, undefined> {
  const ends = (event: TaskEvent): boolean | undefined => (event.type === "TaskStatusChanged" ? isTerminal(event.to) : undefined);
  return follow(rig.engine, { of: { taskId }, types: undefined, signal: undefined, ends, ...given });
}

/** Statuses by their names, all else by its type. */
function textOf(event: TaskEvent): string {
  return event.type === "TaskStatusChanged" ? event.to : event.type;
}

async function all(events: AsyncGenerator<TaskEvent, void, undefined>): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const event of events) texts.push(textOf(event));
  return texts;
}

const WHOLE_LIFE = ["TaskCreated", "queued", "starting", "AttemptStarted", "running", "succeeded"];

describe("the events of a task", () => {
  test("that has ended are read from the store, and that is all", async () => {
    const cell = await rig.submit(() => 1);
    expect(await all(feed(cell.taskId))).toEqual(WHOLE_LIFE);
    expect(rig.left.listeners).toBe(0);
  });

  test("are each there once, whatever is stored while the past is being read", async () => {
    const cell = await rig.submit(puppet.run);
    const barrier = rig.store.hold("feed");
    const read = all(feed(cell.taskId));
    await rig.settle();
    puppet.last.ctx.log.info("meanwhile");
    puppet.last.returns(1);
    await rig.settle();
    barrier.release();
    // The log line is kept by nobody but the stream: it comes behind what was read.
    expect(await read).toEqual([...WHOLE_LIFE, "TaskLogLine"]);
  });

  test("come as they happen once the past has been read, and end with the task", async () => {
    const cell = await rig.submit(puppet.run);
    const read = all(feed(cell.taskId));
    await rig.settle();
    puppet.last.ctx.emit("row", 1);
    puppet.last.returns(1);
    await rig.settle();
    expect(await read).toEqual(["TaskCreated", "queued", "starting", "AttemptStarted", "running", "TaskOutput", "succeeded"]);
    expect(rig.left.listeners).toBe(0);
  });

  test("are read page by page: 2,500 of them come in order, none twice", async () => {
    const cell = await rig.submit(() => 1);
    const [row] = [await rig.row(cell)];
    const events = Array.from({ length: 2_500 }, (_, nth) => ({
      type: "TaskWarning" as const,
      eventId: `w${nth}`,
      at: 0,
      taskId: cell.taskId,
      pipelineRunId: null,
      name: row.name,
      node: null,
      code: "stray_error" as const,
      message: "m",
      failure: null,
    }));
    await rig.store.tasks.commit([{ snapshot: row, expectVersion: row.statusVersion, events, attempts: [] }]);
    const ids: string[] = [];
    for await (const { eventId } of feed(cell.taskId)) ids.push(eventId);
    expect(ids.slice(WHOLE_LIFE.length)).toEqual(events.map(({ eventId }) => eventId));
  });

  test("of the wanted types only, and they end with the task though its end is not among them", async () => {
    const cell = await rig.submit(puppet.run);
    const read = all(feed(cell.taskId, { types: ["AttemptStarted", "TaskOutput"] }));
    await rig.settle();
    puppet.last.ctx.emit("row", 1);
    puppet.last.returns(1);
    await rig.settle();
    expect(await read).toEqual(["AttemptStarted", "TaskOutput"]);
  });

  test("of others are not among them", async () => {
    const cell = await rig.submit(puppet.run);
    const read = all(feed(cell.taskId));
    await rig.submit(() => 2);
    puppet.last.returns(1);
    await rig.settle();
    expect(await read).toEqual(WHOLE_LIFE);
  });
});

describe("whoever stops reading is let go", () => {
  test.each([
    ["by leaving the loop", async (events: AsyncGenerator<TaskEvent, void, undefined>) => void (await events.return())],
    ["by throwing into it", async (events: AsyncGenerator<TaskEvent, void, undefined>) => void (await events.throw(new Error("enough")).catch(() => {}))],
  ])("%s", async (_how, leave) => {
    const cell = await rig.submit(puppet.run);
    const events = feed(cell.taskId);
    await events.next();
    expect(rig.left.listeners).toBe(1);
    await leave(events);
    expect(rig.left.listeners).toBe(0);
  });

  test("by a signal, while it waits for the next event", async () => {
    const cell = await rig.submit(puppet.run);
    const controller = new AbortController();
    const read = all(feed(cell.taskId, { signal: controller.signal }));
    await rig.settle();
    controller.abort();
    expect(await read).toEqual(WHOLE_LIFE.slice(0, -1));
    expect(rig.left.listeners).toBe(0);
  });

  test("by the engine's closing, with everything that happened until then", async () => {
    const cell = await rig.submit(puppet.run);
    const read = all(feed(cell.taskId));
    await rig.settle();
    const closed = rig.engine.close(0);
    await rig.clock.advance(0);
    await closed;
    expect((await read).slice(WHOLE_LIFE.length - 1)).toEqual(["stopping", "lost", "AttemptFailed"]);
  });

  test("by a store that cannot be read, with its error", async () => {
    const cell = await rig.submit(puppet.run);
    rig.store.fail("feed", new Error("no such table"));
    await expect(all(feed(cell.taskId))).rejects.toThrow("no such table");
    expect(rig.left.listeners).toBe(0);
  });
});
