import { errorFacts, holds, same } from "./executor-trial.ts";
import type { CaseDraft } from "./executor-trial.ts";

/** Near enough for an idle timeout: a sign of life at least this often would be asked for every 50 ms. */
const IDLE_MS = 1_000;

/** What reaches the supervisor while a body runs. */
export const REPORTING: readonly CaseDraft[] = [
  {
    name: "passes on progress, log lines, values and saved states, all before the end",
    run: async (trial) => {
      const trialled = trial.launch("speaks");
      await trial.returned(trialled);
      const { reports } = trialled;
      const progress = Object.assign({}, ...reports.of("progress").map(([report]) => report)) as unknown;
      same(progress, { done: 3, total: 4, unit: "rows", message: "nearly" }, "the progress reports, laid over each other");
      same(reports.of("log"), [["warn", "a line", { row: 7 }]], '"log" reports');
      same(reports.of("emit"), [["value", { list: [1, "two"] }]], '"emit" reports');
      same(reports.of("save").at(-1), [{ at: 3 }], 'the last "save" report');
    },
  },
  {
    name: "asks for an upstream value, and hands it to the body",
    run: async (trial) => {
      const asked: string[] = [];
      const upstream = async (node: string): Promise<unknown> => await Promise.resolve({ rows: asked.push(node) });
      same((await trial.returned(trial.launch("asks upstream", { args: ["extract"], upstream }))).value, { rows: 1 }, "what the body got");
      same(asked, ["extract"], "the nodes that were asked for");
    },
  },
  {
    name: "hands the refusal of an upstream value to the body",
    run: async (trial) => {
      const { error } = await trial.threw(trial.launch("asks upstream", { args: ["missing"] }));
      const { name, message } = errorFacts(error);
      same({ name, message }, { name: "RangeError", message: "no node missing" }, "what the body was told");
    },
  },
  {
    name: "tells that a body is active where somebody counts idle time",
    run: async (trial) => {
      const trialled = await trial.begin("quiet checkpoints", { idleMs: IDLE_MS });
      await trial.reported(
        trialled,
        () => trialled.reports.of("active").length >= 3,
        '"active" was reported again and again by a body that only comes by checkpoints',
      );
    },
  },
  {
    name: "does not call a body active that does nothing",
    run: async (trial) => {
      const trialled = await trial.begin("unaware", { args: [400], idleMs: IDLE_MS });
      const before = trialled.reports.of("active").length;
      await trial.returned(trialled);
      // What it said at its beginning may still have been on its way.
      holds(
        trialled.reports.of("active").length <= before + 1,
        `"active" is moved by the task alone; it was reported ${trialled.reports.of("active").length - before} times for a body that did nothing`,
      );
    },
  },
  {
    name: "says by itself that its carrier is alive, also while the body is held or busy",
    skip: ({ beats }) => (beats ? null : "its supervisor looks whether it is alive (supports.beats is false)"),
    run: async (trial) => {
      const trialled = await trial.begin(trial.executor.supports.syncCheckpoint ? "deaf" : "checkpoints");
      const beats = trialled.reports.of("beat").length;
      if (trial.executor.supports.pause) {
        const held = await trial.begin("checkpoints");
        held.handle.pause();
        await trial.reported(held, () => held.reports.of("pauseReached").length > 0, '"pauseReached" was reported');
        const before = held.reports.of("beat").length;
        await trial.reported(held, () => held.reports.of("beat").length > before, '"beat" was reported while the body was held');
      }
      await trial.reported(trialled, () => trialled.reports.of("beat").length > beats, '"beat" was reported');
    },
  },
];
