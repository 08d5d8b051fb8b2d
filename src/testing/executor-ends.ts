import type { ExecutorSupports } from "../core/ports/executor.ts";
import { ContractViolation, errorFacts, holds, refused, same } from "./executor-trial.ts";
import type { CaseDraft, ExecutorTrial } from "./executor-trial.ts";

const takesClosures = ({ closures }: ExecutorSupports): string | null => (closures ? "it takes closures and arguments as they are" : null);
const cannotKill = ({ kill }: ExecutorSupports): string | null => (kill ? null : "its bodies share the process with their supervisor (supports.kill is false)");

/** How attempts begin and end where nobody interferes, and what is refused. */
export const ENDS: readonly CaseDraft[] = [
  {
    name: "gives back what the body returns, and reports the launch once, before user code",
    run: async (trial) => {
      const trialled = trial.launch("returns", { args: [{ rows: [1, "two"] }] });
      same((await trial.returned(trialled)).value, { rows: [1, "two"] }, "what the body returned");
      same(trialled.reports.of("launched").length, 1, '"launched" reports');
      same(trialled.reports.all[0]?.type, "launched", "the first report");
      same(trialled.reports.of("launched")[0], [trialled.handle.pid], "the pid that was reported");
    },
  },
  {
    name: "gives back what the body throws, with its name, message, code and cause",
    run: async (trial) => {
      const { error, noticed } = await trial.threw(trial.launch("throws", { args: ["no rows"] }));
      same(errorFacts(error), { name: "ContractError", message: "no rows", code: "E_CONTRACT" }, "what the body threw");
      same(error instanceof Error && errorFacts(error.cause).message, "the root", "its cause");
      same(noticed, false, "noticed");
    },
  },
  {
    name: "hands the body the facts of its attempt",
    run: async (trial) => {
      const trialled = trial.launch("facts", { saved: { row: 7 }, deadlineAt: () => 1_234_567 });
      const { taskId, pipelineRunId, name, attempt, fencingToken, saved, artifacts } = trialled.request;
      const { value } = await trial.returned(trialled);
      same(value, { taskId, pipelineRunId, name, attempt, fencingToken, deadline: 1_234_567, saved, artifacts }, "what the context said");
    },
  },
  {
    name: "runs while it runs, and no longer once it has settled",
    run: async (trial) => {
      const trialled = await trial.begin("unaware", { args: [50] });
      same(trialled.handle.running, true, "running, while the body runs");
      await trial.returned(trialled);
      same(trialled.handle.running, false, "running, after the end");
    },
  },
  {
    name: "settles once: what is asked of it afterwards changes nothing",
    run: async (trial) => {
      const trialled = trial.launch("returns", { args: [7] });
      const first = await trial.returned(trialled);
      const said = trialled.reports.all.length;
      trialled.handle.pause();
      trialled.handle.stop({ graceMs: 0, message: "too late" });
      trialled.handle.resume();
      await trial.quiet();
      same(await trial.settled(trialled), first, "the settlement, asked again");
      same(trialled.handle.running, false, "running");
      same(trialled.reports.all.slice(said), [], "reports after the end");
      holds(await trial.isPending(trialled.handle.late), '"late" of a body that was not abandoned never resolves');
    },
  },
  {
    name: "carries several attempts at once, each with its own context and reports",
    run: async (trial) => {
      const [first, second] = [await trial.begin("checkpoints"), await trial.begin("checkpoints")];
      first.handle.stop({ graceMs: trial.longGraceMs, message: "the first only" });
      same(errorFacts((await trial.threw(first)).error).message, "the first only", "what the first one threw");
      const steps = second.reports.emitted("step").length;
      await trial.reported(second, () => second.reports.emitted("step").length > steps + 2, "the second one ran on");
      same(second.handle.running, true, "running, of the second one");
    },
  },
  {
    name: "carries one attempt after the other",
    run: async (trial) => {
      for (const value of [1, 2, 3, 4, 5]) {
        if (value === 3) await trial.threw(trial.launch("throws", { args: ["between"] }));
        same((await trial.returned(trial.launch("returns", { args: [value] }))).value, value, "what the body returned");
      }
    },
  },
  {
    name: "lets nothing that a body does after its end reach the next attempt",
    run: async (trial) => {
      const first = trial.launch("haunts", { args: [300] });
      same((await trial.returned(first)).value, "gone", "what the first one returned");
      const second = trial.launch("unaware", { args: [100] });
      await trial.returned(second);
      same([...second.reports.emitted("ghost"), ...second.reports.of("save")], [], "reports of the second attempt that the first one made");
      same(await trial.settled(first), { type: "returned", value: "gone", noticed: false }, "the first settlement, asked again");
    },
  },
  {
    name: "hands over closures and arguments as they are",
    skip: ({ closures }) => (closures ? null : "it takes copies only (supports.closures is false)"),
    run: async (trial) => {
      const given = { count: () => 3 };
      const seen: unknown[] = [];
      const run = (_context: unknown, argument: unknown): unknown => (seen.push(argument), argument);
      const { value } = await trial.returned(trial.launch("returns", { run, args: [given] }));
      holds(value === given && seen[0] === given, "the closure ran, and the argument was the same object there and back");
    },
  },
  {
    name: "refuses arguments that cannot be copied, and says where the trouble is",
    skip: takesClosures,
    run: async (trial) => {
      refused(await trial.refusal("returns", { args: ["fine", { rows: [1, { callback: () => 1 }] }] }), "args[1].rows[1].callback");
      await stillWorks(trial);
    },
  },
  {
    name: "refuses a result that cannot be copied, and says where the trouble is",
    skip: takesClosures,
    run: async (trial) => {
      refused((await trial.threw(trial.launch("uncloneable result"))).error, "result.rows[1].callback");
      await stillWorks(trial);
    },
  },
  {
    name: "refuses a task that names no module, a module without the task, and one that does not load",
    skip: takesClosures,
    run: async (trial) => {
      refused(await trial.refusal("returns", { module: null }), "returns");
      refused(await trial.refusal("returns", { name: "not exported" }), "not exported");
      refused(await trial.refusal("returns", { module: new URL("./missing.ts", trial.module ?? import.meta.url).href }), "missing");
      await stillWorks(trial);
    },
  },
  {
    name: "prepares itself for tasks that it can run, and refuses the others",
    skip: takesClosures,
    run: async (trial) => {
      const { executor, module } = trial;
      if (executor.prepare === undefined) return;
      await trial.within(executor.prepare([{ name: "returns", module }]), "prepare() resolved");
      await stillWorks(trial);
      for (const task of [
        { name: "returns", module: null },
        { name: "not exported", module },
      ]) {
        const outcome = executor.prepare([task]).then(
          () => null,
          (error: unknown) => error,
        );
        refused(await trial.within(outcome, "prepare() answered"), task.name);
      }
    },
  },
  {
    name: "tells of a body that takes its carrier down, and goes on with a new one",
    skip: cannotKill,
    run: async (trial) => {
      const trialled = await trial.begin("exits");
      const settlement = await trial.settled(trialled);
      if (settlement.type !== "died") throw new ContractViolation(`a body that ended its carrier: expected "died"; found "${settlement.type}".`);
      const { kind, exitCode } = settlement.failure;
      same({ kind, exitCode }, { kind: "nonzero_exit", exitCode: 3 }, "the failure of a body that ended its carrier");
      same(trialled.handle.running, false, "running");
      await stillWorks(trial);
    },
  },
  {
    name: "closes, and closes again, once everything has settled",
    run: async (trial) => {
      await stillWorks(trial);
      await trial.within(trial.executor.close(), "close() resolved");
      await trial.within(trial.executor.close(), "close() resolved a second time");
    },
  },
  {
    name: "leaves nothing running when it is closed",
    skip: cannotKill,
    run: async (trial) => {
      const trialled = await trial.begin("checkpoints");
      await trial.within(trial.executor.close(), "close() resolved while a body ran");
      same(trialled.handle.running, false, "running, after close()");
      const { type } = await trial.settled(trialled);
      holds(type === "killed" || type === "died" || type === "threw", `a body that ran at close() was ended; its settlement is "${type}"`);
      const said = trialled.reports.all.length;
      await trial.quiet();
      same(trialled.reports.all.length, said, "how much the body had said at its end, and a moment later");
    },
  },
];

async function stillWorks(trial: ExecutorTrial): Promise<void> {
  same((await trial.returned(trial.launch("returns", { args: ["still there"] }))).value, "still there", "what the next attempt returned");
}
