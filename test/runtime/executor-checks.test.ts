import { beforeEach, describe, expect, test } from "vitest";
import { Controller, definePipeline, task } from "../../src/index.ts";
import { buildGraph } from "../../src/core/graph.ts";
import { failFast } from "../../src/core/policies/aggregation.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { FakeExecutor } from "../../src/testing/fake-executors.ts";
import { Puppet } from "./support/puppet.ts";
import { NOTHING_LEFT, Rig, submission } from "./support/rig.ts";

const UNKNOWN = { code: "CONFIGURATION", message: 'there is no executor "custom:ghost". There are: async, inline, thread, process, custom:fake.' };

let rig: Rig;
let fake: FakeExecutor;
let puppet: Puppet;

beforeEach(async () => {
  fake = new FakeExecutor();
  rig = await Rig.open({ executors: [fake] });
  puppet = new Puppet();
});

/** Nothing was written, and nothing is held. */
function expectUntouched(): void {
  expect([rig.store.writes, rig.events, rig.left]).toEqual([[], [], NOTHING_LEFT]);
}

describe("a task for an executor that there is not", () => {
  test("is refused at submit before anything is stored", async () => {
    await expect(rig.engine.submit(submission(puppet.run, { executor: "custom:ghost" }))).rejects.toMatchObject(UNKNOWN);
    expectUntouched();
  });

  test("among the nodes of a run refuses the whole run before anything is stored", async () => {
    const spec = (name: string, deps: readonly string[]) => ({ name, deps, join: "all_succeeded", onUpstreamFailure: "cancel", kind: "task" }) as const;
    const node = (name: string, executor: string) => ({ name, definition: submission(puppet.run, { executor }).definition, priority: 0, args: [], when: null });
    const graph = buildGraph([spec("good", []), spec("bad", ["good"])]);
    const nodes = [node("good", "async"), node("bad", "custom:ghost")];
    const plan = { pipeline: "by-hand", params: [], graph, nodes, aggregation: failFast(), priority: 0 };
    await expect(rig.engine.startRun(plan)).rejects.toMatchObject(UNKNOWN);
    expectUntouched();
  });

  test("is refused when the executors are prepared", async () => {
    const { definition } = submission(puppet.run, { executor: "custom:ghost" });
    await expect(rig.engine.prepare([submission(puppet.run).definition, definition])).rejects.toMatchObject(UNKNOWN);
  });

  test("is refused on opening a controller, which leaves nothing behind", async () => {
    const ghost = task({ name: "ghost", executor: "custom:ghost" }, () => 1);
    const clock = new FakeClock();
    await expect(Controller.open({ clock, tasks: [ghost], executors: [fake] })).rejects.toMatchObject(UNKNOWN);
    expect([fake.isClosed, clock.pendingTimers]).toEqual([true, 0]);
  });

  test("is refused at startRun where a pipeline's function brings it in", async () => {
    const ghost = task({ name: "ghost", executor: "custom:ghost" }, () => 1);
    const late = definePipeline("late", {}, (p) => void p.add(ghost));
    await using controller = await Controller.open({ clock: new FakeClock(), pipelines: [late], executors: [fake] });
    await expect(controller.startRun(late)).rejects.toMatchObject(UNKNOWN);
    expect((await controller.list()).items).toEqual([]);
  });
});

describe("a task that cannot be loaded where it is to run", () => {
  test.each(["thread", "process"])("is refused at submit before anything is stored (%s)", async (executor) => {
    await expect(rig.engine.submit(submission(puppet.run, { executor }))).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: `task "subject" is to run in a ${executor} and does not say from which module it can be loaded there. Export it, and give it module: import.meta.url.`,
    });
    expectUntouched();
  });
});

describe("a task for an executor of the caller's", () => {
  test("runs there", async () => {
    const cell = await rig.submit(puppet.run, { executor: fake.kind });
    expect(await rig.store.audit.attempts(cell.taskId)).toMatchObject([{ pid: null, endedAt: null }]);
    fake.last.launched(4_711);
    await rig.settle();
    expect(await rig.store.audit.attempts(cell.taskId)).toMatchObject([{ attempt: 1, pid: 4_711, endedAt: null }]);
    expect(rig.events.filter(({ type }) => type === "AttemptStarted")).toMatchObject([{ attempt: { pid: null } }]);
    fake.last.settle({ type: "returned", value: 7, noticed: false });
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: 7, executor: "custom:fake" });
    expect(await rig.store.audit.attempts(cell.taskId)).toMatchObject([{ executor: "custom:fake", pid: 4_711 }]);
    expect([puppet.calls.length, rig.left]).toEqual([0, NOTHING_LEFT]);
  });
});
