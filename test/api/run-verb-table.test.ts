import { describe, expect, test } from "vitest";
import { InvalidTransition, allSettled, definePipeline, task } from "../../src/index.ts";
import type { RunHandle, RunStatus, RunVerb } from "../../src/index.ts";
import { Puppet, polling } from "../runtime/support/puppet.ts";
import { deaf, runSteps, tick } from "./run-stage.ts";
import { openStage, rowsOf } from "./stage.ts";
import type { Stage } from "./stage.ts";

const RUN_VERBS = ["pause", "resume", "stop", "cancel", "retry"] as const satisfies readonly RunVerb[];

/** Written out by hand: `=` is there already, `✗` is refused, a status is where it leads at once. A run is stored as running, so nobody sees `pending`. */
const CONTRACT = `
  | status    | pause   | resume  | stop     | cancel   | retry   |
  | running   | pausing | =       | stopping | stopping | running |
  | pausing   | =       | running | stopping | stopping | pausing |
  | paused    | =       | running | stopping | stopping | paused  |
  | stopping  | ✗       | ✗       | =        | =        | ✗       |
  | succeeded | ✗       | ✗       | ✗        | ✗        | ✗       |
  | failed    | ✗       | ✗       | ✗        | ✗        | running |
  | stopped   | ✗       | ✗       | =        | ✗        | running |
  | cancelled | ✗       | ✗       | ✗        | =        | running |
`;

const TABLE = rowsOf(CONTRACT).map(([row = "", ...cells]) => ({ row: row as keyof typeof WAYS, cells }));

interface Begun extends Stage {
  readonly run: RunHandle;
  readonly puppet: Puppet;
}

/** A node that heeds its checkpoints, one that only the test ends, and one that fails or not. */
async function begun(goesWrong: boolean): Promise<Begun> {
  const puppet = new Puppet();
  const listens = task({ name: "listens" }, async (ctx) => await polling(stage.clock)(ctx));
  const fails = task({ name: "fails" }, () => {
    throw new Error("no");
  });
  const pipeline = definePipeline("pipeline", { onFailure: allSettled() }, (p) => {
    p.add(listens);
    p.add(deaf(puppet));
    p.add(goesWrong ? fails : tick);
  });
  const stage = await openStage({ pipelines: [pipeline] });
  const run = await stage.controller.startRun(pipeline);
  await stage.clock.advance(1);
  return { ...stage, run, puppet };
}

async function asked(stage: Begun, act: () => Promise<unknown>): Promise<Begun> {
  act().catch(() => undefined);
  await stage.clock.advance(20);
  return stage;
}

async function ended(goesWrong: boolean): Promise<Begun> {
  const stage = await begun(goesWrong);
  const id = stage.run.graph()[0]?.taskId ?? "";
  await stage.controller.forceTransition(id, "succeeded", { actor: "ada", reason: "enough", outcome: 1 });
  stage.puppet.last.returns();
  await stage.clock.advance(20);
  return stage;
}

async function halted(verb: "stop" | "cancel"): Promise<Begun> {
  const stage = await begun(false);
  await asked(stage, async () => await stage.run[verb]());
  stage.puppet.last.throws(new Error("stopped"));
  await stage.clock.advance(20);
  return stage;
}

/** Each status is reached for real. */
const WAYS: Readonly<Record<Exclude<RunStatus, "pending">, () => Promise<Begun>>> = {
  running: async () => await begun(false),
  pausing: async () => {
    const stage = await begun(false);
    return await asked(stage, async () => await stage.run.pause());
  },
  paused: async () => {
    const stage = await begun(false);
    await asked(stage, async () => await stage.run.pause());
    stage.puppet.last.returns();
    await stage.clock.advance(20);
    return stage;
  },
  stopping: async () => {
    const stage = await begun(false);
    return await asked(stage, async () => await stage.run.stop({ grace: "1h" }));
  },
  succeeded: async () => await ended(false),
  failed: async () => await ended(true),
  stopped: async () => await halted("stop"),
  cancelled: async () => await halted("cancel"),
};

describe.each(TABLE)("a run that is $row", ({ row, cells }) => {
  test.each(RUN_VERBS.map((verb, index) => ({ verb, cell: cells[index] ?? "" })))("$verb: $cell", async ({ verb, cell }) => {
    await using stage = await WAYS[row]();
    const { run } = stage;
    const before = await run.snapshot();
    expect(before.status).toBe(row);
    // A retry without anything to run again changes nothing where the run is under way.
    const isNoStep = cell === "✗" || cell === "=" || cell === row;

    expect((await run.can(verb)).allowed).toBe(cell !== "✗");
    expect(await run.snapshot()).toEqual(before);
    let refused: unknown = null;
    void run[verb]().catch((error: unknown) => void (refused = error));
    await stage.clock.advance(0);
    if (cell === "✗") expect(refused).toBeInstanceOf(InvalidTransition);
    else expect(refused).toBeNull();
    // The steps are numbered by the version they lead to.
    const next = (await runSteps(run))[before.version];
    if (isNoStep) expect(next).toBeUndefined();
    else expect(next).toBe(`${row} → ${cell} (user:${verb}) by user`);
  });
});

test("every status that a run is ever seen in is there", () => {
  expect(TABLE.map(({ row }) => row)).toEqual(Object.keys(WAYS));
});
