import type { ExecutorSupports } from "../core/ports/executor.ts";
import { errorFacts, holds, refused, same } from "./executor-trial.ts";
import type { CaseDraft, ExecutorTrial, Trialled } from "./executor-trial.ts";
import type { ContractBodyName } from "./executor-bodies.ts";

const cannotPause = ({ pause }: ExecutorSupports): string | null => (pause ? null : "it cannot hold a body (supports.pause is false)");
const cannotHoldBusy = ({ pause, syncCheckpoint }: ExecutorSupports): string | null =>
  pause && syncCheckpoint ? null : "it cannot reach a busy loop (supports.syncCheckpoint or supports.pause is false)";

/** Pauses: at a checkpoint, in a busy loop, and where there is none. */
export const PAUSES: readonly CaseDraft[] = [
  {
    name: "holds a body at its checkpoint, and lets it go",
    skip: cannotPause,
    run: async (trial) => await pauseAndResume(trial, "checkpoints"),
  },
  {
    name: "holds a body in a busy loop at checkpointSync, and lets it go",
    skip: cannotHoldBusy,
    run: async (trial) => await pauseAndResume(trial, "sync checkpoints"),
  },
  {
    name: "holds it again when paused again, and says so again",
    skip: cannotPause,
    run: async (trial) => {
      const trialled = await trial.begin("checkpoints");
      await paused(trial, trialled);
      const before = trialled.reports.of("pauseReached").length;
      trialled.handle.resume();
      await movesOn(trial, trialled);
      trialled.handle.pause();
      await trial.reported(trialled, () => trialled.reports.of("pauseReached").length > before, '"pauseReached" was reported for the second pause');
      await standsStill(trial, trialled);
    },
  },
  {
    name: "forgets a pause that was taken back before a checkpoint",
    skip: cannotPause,
    run: async (trial) => {
      const trialled = await trial.begin("one checkpoint", { args: [100] });
      trialled.handle.pause();
      trialled.handle.resume();
      same(await trial.settled(trialled), { type: "returned", value: "done", noticed: false }, "the settlement");
    },
  },
  {
    name: "says that a pause is reached only when it is: a body that does not look is not held",
    skip: cannotPause,
    run: async (trial) => {
      const trialled = await trial.begin("unaware", { args: [150] });
      trialled.handle.pause();
      same((await trial.returned(trialled)).value, "done", "what the body returned, though it was to pause");
      same(trialled.reports.of("pauseReached").length, 0, '"pauseReached" reports of a body that met no checkpoint');
    },
  },
  {
    name: "holds nothing and says nothing of it where it cannot pause",
    skip: ({ pause }) => (pause ? "it can hold a body (supports.pause)" : null),
    run: async (trial) => {
      const trialled = await trial.begin("checkpoints");
      trialled.handle.pause();
      await movesOn(trial, trialled);
      same(trialled.reports.of("pauseReached").length, 0, '"pauseReached" reports');
    },
  },
  {
    name: "stops a body while it is paused",
    skip: cannotPause,
    run: async (trial) => await stopWhilePaused(trial, "checkpoints"),
  },
  {
    name: "stops a busy loop while it is paused",
    skip: cannotHoldBusy,
    run: async (trial) => await stopWhilePaused(trial, "sync checkpoints"),
  },
  {
    name: "stops a busy loop at checkpointSync",
    skip: ({ syncCheckpoint }) => (syncCheckpoint ? null : "it cannot reach a busy loop (supports.syncCheckpoint is false)"),
    run: async (trial) => {
      const trialled = await trial.begin("sync checkpoints");
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "stopped" });
      const { error, noticed } = await trial.threw(trialled);
      same({ code: errorFacts(error).code, noticed }, { code: "TASK_CANCELLED", noticed: true }, "the end");
    },
  },
  {
    name: "refuses checkpointSync where nothing could be heard",
    skip: ({ syncCheckpoint }) => (syncCheckpoint ? "it reaches a busy loop (supports.syncCheckpoint)" : null),
    run: async (trial) => refused((await trial.threw(trial.launch("one sync checkpoint"))).error, "checkpointSync"),
  },
  {
    name: "tells a body that was paused its new deadline",
    skip: cannotPause,
    run: async (trial) => {
      let deadline = 1_000;
      const trialled = await trial.begin("deadline", { deadlineAt: () => deadline });
      await trial.reported(trialled, () => trialled.reports.emitted("deadline").includes(1_000), "ctx.deadline was the one of the request");
      await paused(trial, trialled);
      deadline = 2_000;
      trialled.handle.resume();
      await trial.reported(trialled, () => trialled.reports.emitted("deadline").includes(2_000), "ctx.deadline had moved on by the pause");
    },
  },
];

async function pauseAndResume(trial: ExecutorTrial, body: ContractBodyName): Promise<void> {
  const trialled = await trial.begin(body);
  await paused(trial, trialled);
  await standsStill(trial, trialled);
  same(trialled.handle.running, true, "running, while paused");
  trialled.handle.resume();
  await movesOn(trial, trialled);
}

async function stopWhilePaused(trial: ExecutorTrial, body: ContractBodyName): Promise<void> {
  const trialled = await trial.begin(body);
  await paused(trial, trialled);
  trialled.handle.stop({ graceMs: trial.longGraceMs, message: "stopped while paused" });
  const { error, noticed } = await trial.threw(trialled);
  same({ message: errorFacts(error).message, noticed }, { message: "stopped while paused", noticed: true }, "the end");
}

async function paused(trial: ExecutorTrial, { handle, reports }: Trialled): Promise<void> {
  const before = reports.of("pauseReached").length;
  handle.pause();
  await trial.within(
    reports.until(() => reports.of("pauseReached").length > before),
    '"pauseReached" was reported',
  );
}

async function standsStill(trial: ExecutorTrial, { reports }: Trialled): Promise<void> {
  const steps = reports.emitted("step").length;
  await trial.quiet();
  same(reports.emitted("step").length, steps, "the steps of a paused body, when it said so and a moment later");
}

async function movesOn(trial: ExecutorTrial, trialled: Trialled): Promise<void> {
  const steps = trialled.reports.emitted("step").length;
  await trial.reported(trialled, () => trialled.reports.emitted("step").length > steps + 2, "the body went on");
  holds(trialled.handle.running, "running is true while the body goes on");
}
