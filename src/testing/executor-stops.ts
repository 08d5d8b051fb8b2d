import type { ExecutorSupports } from "../core/ports/executor.ts";
import { ContractViolation, errorFacts, holds, same } from "./executor-trial.ts";
import type { CaseDraft } from "./executor-trial.ts";

const SHORT_GRACE_MS = 80;
/** A body that outlives a short grace by far, and ends all the same. */
const OUTLIVES_MS = 600;

const cannotKill = ({ kill }: ExecutorSupports): string | null => (kill ? null : "it cannot end a body by force (supports.kill is false)");
const canKill = ({ kill }: ExecutorSupports): string | null => (kill ? "it ends bodies by force (supports.kill)" : null);

/** The three steps of a stop: ask, grace, last resort. */
export const STOPS: readonly CaseDraft[] = [
  {
    name: "stops a body at its checkpoint, and says that it was seen",
    run: async (trial) => {
      const trialled = await trial.begin("checkpoints");
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "stopped by ada" });
      const { error, noticed } = await trial.threw(trialled);
      same(errorFacts(error), { name: "TaskCancelled", message: "stopped by ada", code: "TASK_CANCELLED" }, "what the checkpoint threw");
      same({ noticed, running: trialled.handle.running }, { noticed: true, running: false }, "noticed and running");
      holds(trialled.reports.of("stopSeen").length > 0, '"stopSeen" was reported before the attempt settled');
    },
  },
  {
    name: "stops a body by its signal, and counts what it returns as noticed",
    run: async (trial) => {
      const trialled = await trial.begin("takes signal");
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "stopped by ada" });
      same(await trial.settled(trialled), { type: "returned", value: "part: stopped by ada", noticed: true }, "the settlement");
      holds(trialled.reports.of("stopSeen").length > 0, '"stopSeen" was reported before the attempt settled');
    },
  },
  {
    name: "counts as noticed what a body returns though its checkpoint threw",
    run: async (trial) => {
      const trialled = await trial.begin("cleans up");
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "stopped" });
      same(await trial.settled(trialled), { type: "returned", value: "part", noticed: true }, "the settlement");
      same(trialled.reports.emitted("cleaned").length, 1, "what the body said while it cleaned up");
    },
  },
  {
    name: "lets a body end in peace within the grace, unnoticed where it cannot have noticed",
    run: async (trial) => {
      const trialled = await trial.begin("unaware", { args: [150] });
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "stopped" });
      same(await trial.settled(trialled), { type: "returned", value: "done", noticed: false }, "the settlement");
      same(trialled.reports.of("stopSeen").length, 0, '"stopSeen" reports of a body that never looked');
    },
  },
  {
    name: "never begins user code whose launch may run out of time and was told to stop before it was reported",
    run: async (trial) => {
      const trialled = trial.launch("checkpoints", { startMs: trial.longGraceMs });
      if (trialled.reports.of("launched").length > 0) return;
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "the launch took too long" });
      await trial.settled(trialled);
      same({ launched: trialled.reports.of("launched").length, ready: trialled.reports.emitted("ready").length }, { launched: 0, ready: 0 }, "what began");
    },
  },
  {
    name: "does not begin user code, or ends it, when stopped right behind the launch",
    run: async (trial) => {
      const trialled = trial.launch("checkpoints");
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "never mind" });
      const { error, noticed } = await trial.threw(trialled);
      same({ code: errorFacts(error).code, noticed }, { code: "TASK_CANCELLED", noticed: true }, "the end");
      holds(trialled.reports.of("launched").length <= 1, 'there was one "launched" report at most');
      same(trialled.handle.running, false, "running");
    },
  },
  {
    name: "takes the shorter grace when it is asked again",
    run: async (trial) => {
      const trialled = await trial.begin("unaware", { args: [trial.executor.supports.kill ? trial.longGraceMs : OUTLIVES_MS] });
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "take your time" });
      trialled.handle.stop({ graceMs: SHORT_GRACE_MS, message: "hurry" });
      const { type } = await trial.settled(trialled);
      same(type, trial.executor.supports.kill ? "killed" : "abandoned", "the end of the shorter grace");
    },
  },
  {
    name: "does not take a longer grace when it is asked again",
    run: async (trial) => {
      const trialled = await trial.begin("unaware", { args: [trial.executor.supports.kill ? trial.longGraceMs : OUTLIVES_MS] });
      trialled.handle.stop({ graceMs: SHORT_GRACE_MS, message: "hurry" });
      trialled.handle.stop({ graceMs: trial.longGraceMs, message: "take your time" });
      const { type } = await trial.settled(trialled);
      same(type, trial.executor.supports.kill ? "killed" : "abandoned", "the end of the shorter grace");
    },
  },
  {
    name: "kills a body that used up its grace: that is a known end",
    skip: cannotKill,
    run: async (trial) => {
      const trialled = await trial.begin(trial.executor.supports.syncCheckpoint ? "deaf" : "unaware", { args: [trial.longGraceMs] });
      trialled.handle.stop({ graceMs: SHORT_GRACE_MS, message: "stopped" });
      same((await trial.settled(trialled)).type, "killed", "the settlement");
      same(trialled.handle.running, false, "running, after the kill");
      holds(await trial.isPending(trialled.handle.late), '"late" of a body that was killed never resolves');
      same((await trial.returned(trial.launch("returns", { args: [1] }))).value, 1, "what the next attempt returned");
    },
  },
  {
    name: "truly ends what it says it has killed",
    skip: cannotKill,
    run: async (trial) => {
      // It speaks every few milliseconds for as long as its carrier lives.
      const talker = await trial.begin("talks", { args: [trial.longGraceMs] });
      talker.handle.stop({ graceMs: 0, message: "stopped" });
      same((await trial.settled(talker)).type, "killed", "the settlement");
      const said = talker.reports.all.length;
      await trial.quiet();
      same(talker.reports.all.length, said, "how much the body had said at its end, and a moment later");
    },
  },
  {
    name: "abandons a body that used up its grace, says that it still runs, and tells of its late end",
    skip: canKill,
    run: async (trial) => {
      const trialled = await trial.begin("unaware", { args: [OUTLIVES_MS] });
      trialled.handle.stop({ graceMs: SHORT_GRACE_MS, message: "stopped" });
      const { type } = await trial.settled(trialled);
      if (type !== "abandoned") throw new ContractViolation(`the end of the grace: expected "abandoned"; found "${type}".`);
      same(trialled.handle.running, true, "running, of an abandoned body");
      same(
        await trial.within(trialled.handle.late, '"late" resolved once the abandoned body had ended'),
        { type: "returned", value: "done", noticed: false },
        "its late end",
      );
      same(trialled.handle.running, false, "running, after the late end");
      same(await trial.settled(trialled), { type: "abandoned" }, "the settlement, asked again: a verdict is sticky");
    },
  },
];
