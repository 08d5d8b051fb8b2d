import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskEvent, TaskLogLine } from "../../src/core/events.ts";
import type { Logger } from "../../src/core/ports/logger.ts";
import { quietLogger } from "../../src/core/ports/logger.ts";
import { EventBus } from "../../src/runtime/event-bus.ts";
import type { EventStream } from "../../src/runtime/event-stream.ts";

let made = 0;

function newEvent(taskId: string, { pipelineRunId = null }: { readonly pipelineRunId?: string | null } = {}): TaskEvent {
  made += 1;
  return { type: "TaskCreated", eventId: `event ${made}`, at: 0, taskId, pipelineRunId, name: "work", node: null };
}

function newLogLine(taskId: string): TaskLogLine {
  made += 1;
  return {
    type: "TaskLogLine",
    eventId: `event ${made}`,
    at: 0,
    taskId,
    pipelineRunId: null,
    name: "work",
    node: null,
    level: "info",
    message: "",
    fields: {},
  };
}

function newRunEvent(pipelineRunId: string): TaskEvent {
  made += 1;
  const common = { eventId: `event ${made}`, at: 0, taskId: null, pipelineRunId, name: "nightly" };
  return { ...common, type: "PipelineRunStatusChanged", from: "pending", to: "running", trigger: "t", actor: "a", reason: null, version: 1 };
}

function newBus(logger: Logger = quietLogger): EventBus {
  return new EventBus({ logger });
}

/** What a subscription got, as a list that grows. */
function record(bus: EventBus, filter: Parameters<EventBus["subscribe"]>[0] = {}): TaskEvent[] {
  const got: TaskEvent[] = [];
  bus.subscribe(filter, (event) => got.push(event));
  return got;
}

/** Everything a stream gives until it ends. */
async function readAll(stream: EventStream): Promise<readonly TaskEvent[]> {
  const got: TaskEvent[] = [];
  for await (const event of stream) got.push(event);
  return got;
}

describe("a filter", () => {
  const bus = newBus();
  const all = record(bus);
  const ofTask = record(bus, { taskId: "t1" });
  const ofRun = record(bus, { pipelineRunId: "r1" });
  const ofBoth = record(bus, { taskId: "t1", pipelineRunId: "r1" });
  const ofType = record(bus, { types: ["TaskLogLine", "PipelineRunStatusChanged"] });
  const ofTypeAndTask = record(bus, { taskId: "t2", types: ["TaskLogLine"] });
  const events = [
    newEvent("t1"),
    newEvent("t1", { pipelineRunId: "r1" }),
    newEvent("t2", { pipelineRunId: "r1" }),
    newLogLine("t1"),
    newLogLine("t2"),
    newRunEvent("r1"),
    newRunEvent("r2"),
  ];
  bus.publish(events);
  const at = (...places: readonly number[]): readonly unknown[] => places.map((place) => events[place]);

  it("that names nothing lets everything through, in order", () => expect(all).toEqual(events));
  it("by task", () => expect(ofTask).toEqual(at(0, 1, 3)));
  it("by run, its own events included", () => expect(ofRun).toEqual(at(1, 2, 5)));
  it("by both", () => expect(ofBoth).toEqual(at(1)));
  it("by type", () => expect(ofType).toEqual(at(3, 4, 5, 6)));
  it("by type and task", () => expect(ofTypeAndTask).toEqual(at(4)));

  it("can be asked whether anybody would hear", () => {
    const quiet = newBus();
    const event = newLogLine("t1");
    expect(quiet.hears(event)).toBe(false);
    quiet.subscribe({ taskId: "t2" }, () => {});
    quiet.subscribe({ taskId: "t1", types: ["TaskCreated"] }, () => {});
    expect(quiet.hears(event)).toBe(false);
    quiet.subscribe({ pipelineRunId: "r1" }, () => {});
    expect([quiet.hears(event), quiet.hears({ ...event, pipelineRunId: "r1" })]).toEqual([false, true]);
    const end = quiet.subscribe({ taskId: "t1" }, () => {});
    expect(quiet.hears(event)).toBe(true);
    end();
    expect(quiet.hears(event)).toBe(false);
  });
});

describe("a listener", () => {
  it("that throws or rejects is logged and counted, and hurts nobody", async () => {
    const logged: unknown[] = [];
    const bus = newBus({ ...quietLogger, error: (_message, fields) => void logged.push(fields?.["error"]) });
    const [thrown, rejected] = [new Error("thrown"), new Error("rejected")];
    bus.subscribe({}, () => {
      throw thrown;
    });
    bus.subscribe({}, () => Promise.reject(rejected));
    bus.subscribe({}, () => new Promise(() => {}));
    const healthy = record(bus);
    const events = [newEvent("t1"), newEvent("t2")];
    bus.publish(events);
    await new Promise(setImmediate); // an unhandled rejection would fail the run here
    expect(healthy).toEqual(events);
    expect(logged).toEqual([thrown, thrown, rejected, rejected]);
    expect(bus.listenerFailures).toBe(4);
  });

  it("that throws while the logger throws too hurts nobody either", () => {
    const bus = newBus({
      ...quietLogger,
      error() {
        throw new Error("no log");
      },
    });
    bus.subscribe({}, () => {
      throw new Error("thrown");
    });
    const healthy = record(bus);
    bus.publish([newEvent("t1")]);
    expect([healthy.length, bus.listenerFailures]).toEqual([1, 1]);
  });

  it("may return something that only looks like a promise", () => {
    const bus = newBus();
    const notAPromise = new Map([["then", "later"]]);
    bus.subscribe({}, () => Object.fromEntries(notAPromise));
    bus.subscribe({}, () => null);
    bus.publish([newEvent("t1")]);
    expect(bus.listenerFailures).toBe(0);
  });

  it("may end itself and others while an event is handed out; those get nothing more", () => {
    const bus = newBus();
    const got: string[] = [];
    const endFirst = bus.subscribe({}, () => {
      got.push("first");
      endFirst();
      endThird();
    });
    bus.subscribe({}, () => got.push("second"));
    const endThird = bus.subscribe({}, () => got.push("third"));
    bus.publish([newEvent("t1"), newEvent("t1")]);
    expect(got).toEqual(["first", "second", "second"]);
    endFirst();
    expect(bus.listenerCount).toBe(1);
  });

  it("that comes while an event is handed out gets the next one", () => {
    const bus = newBus();
    let late: TaskEvent[] | undefined;
    bus.subscribe({ taskId: "t1" }, () => void (late ??= record(bus, { taskId: "t1" })));
    const [first, second] = [newEvent("t1"), newEvent("t1")];
    bus.publish([first]);
    expect(late).toEqual([]);
    bus.publish([second]);
    expect(late).toEqual([second]);
  });

  it("that comes gets nothing of a batch that was published before it", () => {
    const bus = newBus();
    let late: TaskEvent[] | undefined;
    bus.subscribe({}, () => void (late ??= record(bus)));
    bus.publish([newEvent("t1"), newEvent("t1")]);
    expect(late).toEqual([]);
  });

  it("that subscribes anew on each event does not go round for ever", () => {
    const bus = newBus();
    let calls = 0;
    const again = (): void => {
      const end = bus.subscribe({}, () => {
        calls += 1;
        end();
        again();
      });
    };
    again();
    bus.publish([newEvent("t1")]);
    expect([calls, bus.listenerCount]).toEqual([1, 1]);
  });

  it("that publishes does not turn the order round for the others", () => {
    const bus = newBus();
    const [cause, effect] = [newEvent("cause"), newEvent("effect")];
    bus.subscribe({ taskId: "cause" }, () => bus.publish([effect]));
    const got = record(bus);
    bus.publish([cause]);
    expect(got).toEqual([cause, effect]);
  });

  it("ends with its signal and leaves nothing on it", () => {
    const bus = newBus();
    const controller = new AbortController();
    const got: TaskEvent[] = [];
    bus.subscribe({}, (event) => got.push(event), { signal: controller.signal });
    const end = bus.subscribe({}, () => {}, { signal: controller.signal });
    end();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    bus.subscribe({}, (event) => got.push(event), { signal: controller.signal });
    bus.publish([newEvent("t1")]);
    expect([got.length, bus.listenerCount, getEventListeners(controller.signal, "abort").length]).toEqual([0, 0, 0]);
  });
});

describe("a stream", () => {
  it("gives what was published since it was made, also what came before it was read", async () => {
    const bus = newBus();
    bus.publish([newEvent("too early")]);
    const stream = bus.stream({});
    const events = [newEvent("t1"), newEvent("t2"), newEvent("t3")];
    bus.publish(events.slice(0, 2));
    expect([(await stream.next()).value, (await stream.next()).value]).toEqual(events.slice(0, 2));
    const third = stream.next();
    bus.publish(events.slice(2));
    expect(await third).toEqual({ done: false, value: events[2] });
  });

  it("serves several takers in their order, and ends them all", async () => {
    const bus = newBus();
    const stream = bus.stream({});
    const takers = [stream.next(), stream.next(), stream.next()];
    const events = [newEvent("t1"), newEvent("t2")];
    bus.publish(events);
    await stream.return();
    expect((await Promise.all(takers)).map(({ value }) => value)).toEqual([...events, undefined]);
  });

  it("that is not read keeps the latest and counts what it dropped", async () => {
    const bus = newBus();
    const stream = bus.stream({}, { limit: 3 });
    const other = bus.stream({});
    const events = Array.from({ length: 10 }, (_, i) => newEvent(`t${i}`));
    bus.publish(events);
    expect([stream.dropped, other.dropped, bus.dropped]).toEqual([7, 0, 7]);
    bus.close();
    expect(await readAll(stream)).toEqual(events.slice(-3));
    expect(await readAll(other)).toEqual(events);
  });

  it("holds 10,000 events unless it says otherwise", () => {
    const bus = newBus();
    const stream = bus.stream({});
    const event = newEvent("t1");
    bus.publish(Array.from({ length: 10_001 }, () => event));
    expect(stream.dropped).toBe(1);
  });

  it("delivers what waits when the bus is closed, then ends", async () => {
    const bus = newBus();
    const [read, waiting] = [bus.stream({}), bus.stream({})];
    const taken = read.next();
    const events = [newEvent("t1"), newEvent("t2")];
    bus.publish(events);
    const last = read.next().then(() => read.next());
    bus.close();
    bus.publish([newEvent("too late")]);
    expect(await taken).toEqual({ done: false, value: events[0] });
    expect(await last).toEqual({ done: true, value: undefined });
    expect(await readAll(waiting)).toEqual(events);
    expect(bus.listenerCount).toBe(0);
  });

  it.each([
    ["leaving the loop", async (stream: EventStream) => void (await readOne(stream))],
    ["return", async (stream: EventStream) => void (await stream.return())],
    ["throw", async (stream: EventStream) => expect(stream.throw(new Error("enough"))).rejects.toThrow("enough")],
    ["await using", async (stream: EventStream) => stream[Symbol.asyncDispose]()],
  ])("is over after %s, and forgets what waited", async (_how, end) => {
    const bus = newBus();
    const controller = new AbortController();
    const stream = bus.stream({}, { signal: controller.signal });
    bus.publish([newEvent("t1"), newEvent("t2")]);
    expect(bus.listenerCount).toBe(1);
    await end(stream);
    bus.publish([newEvent("t3")]);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect([bus.listenerCount, getEventListeners(controller.signal, "abort").length]).toEqual([0, 0]);
  });

  it("ends with its signal, also one that was aborted before", async () => {
    const bus = newBus();
    const controller = new AbortController();
    const reading = readAll(bus.stream({}, { signal: controller.signal }));
    controller.abort();
    expect(await reading).toEqual([]);
    expect(await readAll(bus.stream({}, { signal: controller.signal }))).toEqual([]);
    expect([bus.listenerCount, getEventListeners(controller.signal, "abort").length]).toEqual([0, 0]);
  });

  it("gives a fitting part of what was published, in order, however it is read", async () => {
    const anyStep = fc.oneof(fc.record({ publish: fc.integer({ min: 1, max: 6 }) }), fc.record({ read: fc.integer({ min: 1, max: 6 }) }));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fc.array(anyStep), async (limit, steps) => {
        const bus = newBus();
        const stream = bus.stream({}, { limit });
        const taken: Promise<IteratorResult<TaskEvent, undefined>>[] = [];
        const expected: TaskEvent[] = [];
        let waiting: TaskEvent[] = [];
        for (const step of steps) {
          const events = Array.from({ length: "publish" in step ? step.publish : 0 }, () => newEvent("t1"));
          bus.publish(events);
          if ("read" in step) for (let i = 0; i < step.read; i += 1) taken.push(stream.next());
          waiting.push(...events);
          expected.push(...waiting.splice(0, taken.length - expected.length));
          waiting = waiting.slice(-limit);
        }
        bus.close();
        const values = (await Promise.all(taken)).map(({ value }) => value).filter((value) => value !== undefined);
        expect([...values, ...(await readAll(stream))]).toEqual([...expected, ...waiting]);
      }),
    );
  });
});

describe("closing", () => {
  it("ends everything and takes nobody in", async () => {
    const bus = newBus();
    const controller = new AbortController();
    const got: TaskEvent[] = [];
    const end = bus.subscribe({ taskId: "t1" }, (event) => got.push(event), { signal: controller.signal });
    bus.close();
    bus.close();
    end();
    bus.subscribe({}, (event) => got.push(event));
    const late = bus.stream({});
    bus.publish([newEvent("t1")]);
    expect([got.length, bus.listenerCount, getEventListeners(controller.signal, "abort").length]).toEqual([0, 0, 0]);
    expect(await readAll(late)).toEqual([]);
  });

  it("inside a listener keeps the event from those who have not got it yet", () => {
    const bus = newBus();
    bus.subscribe({ taskId: "t1" }, () => bus.close());
    const [sameTask, others] = [record(bus, { taskId: "t1" }), record(bus)];
    bus.publish([newEvent("t1"), newEvent("t1")]);
    expect([sameTask, others]).toEqual([[], []]);
  });
});

it("does for an event no more than its own subscribers ask", () => {
  const bus = newBus();
  let looks = 0;
  const types = new Proxy(["TaskCreated" as const], {
    get(target, key, receiver): unknown {
      if (key === "includes") looks += 1;
      return Reflect.get(target, key, receiver);
    },
  });
  let calls = 0;
  for (let i = 0; i < 10_000; i += 1) bus.subscribe({ taskId: `t${i}`, types }, () => (calls += 1));
  bus.publish([newEvent("t1"), newEvent("t9999"), newEvent("nobody's")]);
  expect([calls, looks, bus.listenerCount]).toEqual([2, 2, 10_000]);
});

async function readOne(stream: EventStream): Promise<TaskEvent | undefined> {
  for await (const event of stream) return event;
  return undefined;
}
