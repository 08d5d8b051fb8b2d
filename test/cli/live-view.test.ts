import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createFailure } from "../../src/core/failure.ts";
import type { TaskEvent } from "../../src/core/events.ts";
import type { RunStatus } from "../../src/core/status.ts";
import { LiveReporter } from "../../src/cli/output/live-reporter.ts";
import { Output } from "../../src/cli/output/output.ts";
import { createPaint } from "../../src/cli/output/paint.ts";
import type { EndSummary } from "../../src/cli/output/summary.ts";
import { countStatuses } from "../../src/api/run-summary.ts";
import { base, began, progress, step } from "./sample-events.ts";
import { screen } from "./screen.ts";
import type { Screen } from "./screen.ts";

const START = 1_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ["setInterval", "clearInterval", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function open(at: Screen): LiveReporter {
  return new LiveReporter(new Output(at.stream), {
    title: "nightly",
    others: [],
    sharesStderr: true,
    verbose: false,
    paint: createPaint(true),
  });
}

/** Time passes, and with it the view's ticks. */
function pass(ms: number): void {
  vi.advanceTimersByTime(ms);
}

function running(reporter: LiveReporter, names: readonly string[]): void {
  for (const name of names) {
    reporter.event(step(name, "pending", "queued"));
    reporter.event(began(name));
    reporter.event(step(name, "queued", "running"));
  }
}

const SUMMARY: EndSummary = {
  kind: "run",
  id: "abcdefghijkl",
  name: "nightly",
  status: "failed",
  total: 1,
  counts: { ...countStatuses([]), failed: 1 },
  maps: [],
  startedAt: START,
  endedAt: START + 1_000,
  attempt: null,
  maxAttempts: null,
  firstFailure: { node: "load", taskId: "", status: "failed", failure: createFailure({ kind: "exception", message: "broken" }), affected: [] },
  outcome: undefined,
  outcomeMissing: null,
  exitCode: 1,
};

/** A step of the run itself, now. */
function run(from: RunStatus, to: RunStatus): TaskEvent {
  const what = { type: "PipelineRunStatusChanged", taskId: null, pipelineRunId: "run", name: "nightly" } as const;
  return { ...what, eventId: "", at: Date.now(), from, to, trigger: "t", actor: "a", reason: null, version: 1 };
}

describe("the live view", () => {
  test.each([20, 40, 80, 200])("has a line for each node and one for all, at %i columns", async (columns) => {
    const at = screen(columns, 24);
    const reporter = open(at);
    running(reporter, ["extract", "数据清洗任务名称非常长的一个名字还没有结束", "load"]);
    reporter.event(progress("extract", 10, 100));
    pass(1_000);
    reporter.event(progress("extract", 60, 100));
    pass(100);
    const lines = await at.lines();
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^● extract/);
    expect(lines[1]).toMatch(/^● 数据/);
    expect(lines[3]).toMatch(/^nightly/);
    reporter.restore();
  });

  test("shows status, bar, amount, rate, time left and elapsed, in columns that line up", async () => {
    const at = screen(120, 24);
    const reporter = open(at);
    running(reporter, ["extract", "数据清洗"]);
    reporter.event(progress("extract", 10, 100));
    pass(1_000);
    reporter.event(progress("extract", 60, 100));
    pass(100);
    const [first = "", second = ""] = await at.lines();
    expect(first).toMatch(/^● extract {3}running {5}━━━━━━──── {3}60\/100 rows  50\/s  ETA 1 s +1.1 s$/);
    expect(second).toMatch(/^● 数据清洗  running +1.1 s$/);
    reporter.restore();
  });

  test("says so while the whole run is paused, or on its way there", async () => {
    const at = screen(120, 24);
    const reporter = open(at);
    running(reporter, ["extract"]);
    reporter.event(run("running", "pausing"));
    pass(200);
    expect((await at.lines())[1]).toMatch(/^nightly {2}pausing · 0\/1 ended · 1 running/);
    reporter.event(step("extract", "running", "paused"));
    reporter.event(run("pausing", "paused"));
    pass(200);
    expect((await at.lines())[1]).toMatch(/^nightly {2}paused · 0\/1 ended · 1 paused/);
    reporter.event(run("paused", "running"));
    pass(200);
    expect((await at.lines())[1]).toMatch(/^nightly {2}0\/1 ended/);
    reporter.restore();
  });

  test("has the run's own time, which stands when all has ended and is that of the summary", async () => {
    const at = screen(80, 24);
    const reporter = open(at);
    const seconds = async (): Promise<string | undefined> =>
      /ended.* {2}(\S+ m?s)$/.exec((await at.lines()).find((line) => line.startsWith("nightly")) ?? "")?.[1];
    // Loading has taken so long.
    pass(5_000);
    reporter.event(run("pending", "running"));
    running(reporter, ["load"]);
    pass(100);
    expect(await seconds()).toBe("100 ms");
    pass(900);
    reporter.event(step("load", "running", "failed"));
    pass(3_000);
    expect(await seconds()).toBe("1 s");
    reporter.event(run("running", "failed"));
    pass(3_000);
    reporter.end({ ...SUMMARY, startedAt: START + 5_000, endedAt: START + 6_001 });
    expect(await seconds()).toBe("1 s");
    expect((await at.lines()).at(-1)).toBe("run nightly (abcdefgh) failed in 1 s: 1 failed");
  });

  test("goes on with its time where a node that has ended begins again", async () => {
    const at = screen(80, 24);
    const reporter = open(at);
    reporter.event(run("pending", "running"));
    running(reporter, ["load"]);
    reporter.event(step("load", "running", "failed"));
    pass(2_000);
    reporter.event(step("load", "failed", "queued"));
    pass(100);
    expect((await at.lines()).at(-1)).toMatch(/ {2}2.1 s$/);
    reporter.restore();
  });

  test("collapses what does not fit, what runs and what has failed first", async () => {
    const at = screen(80, 8);
    const reporter = open(at);
    const names = Array.from({ length: 50 }, (_, index) => `node-${index}`);
    running(reporter, names.slice(0, 10));
    for (const name of names.slice(10)) reporter.event(step(name, "pending", "blocked"));
    for (const name of names.slice(0, 8)) reporter.event(step(name, "running", name === "node-7" ? "failed" : "succeeded"));
    pass(100);
    const lines = await at.lines();
    expect(lines).toHaveLength(7);
    expect(lines.slice(0, 3).map((line) => line.split(/ +/)[1])).toEqual(["node-7", "node-8", "node-9"]);
    expect(lines.at(-2)).toBe("… 45 more: 38 blocked, 7 succeeded");
    expect(lines.at(-1)).toMatch(/^nightly {2}8\/50 ended · 2 running · 1 failed/);
    reporter.restore();
  });

  test("repaints at most ten times a second, and not at all while nothing moves", () => {
    const at = screen(80, 24);
    const reporter = open(at);
    reporter.event(step("extract", "pending", "queued"));
    pass(100);
    const before = at.writes();
    pass(10_000);
    expect(at.writes()).toBe(before);
    running(reporter, ["extract"]);
    for (let tick = 0; tick < 1_000; tick += 1) {
      reporter.event(progress("extract", tick, 1_000));
      pass(1);
    }
    expect(at.writes() - before).toBeLessThanOrEqual(10);
    reporter.restore();
  });

  test.each([
    [80, 40],
    [40, 20],
    [40, 100],
  ])("leaves nothing behind when the terminal goes from %i to %i columns", async (from, to) => {
    const at = screen(from, 24);
    at.stream.write("$ chongming run nightly\n");
    const reporter = open(at);
    running(reporter, ["a-node-with-quite-a-long-name-of-its-own", "load"]);
    pass(100);
    at.resize(to, 24);
    pass(1_000);
    const lines = (await at.lines()).join("\n");
    expect(lines.match(/● a-no/g)).toHaveLength(1);
    expect(lines.match(/● load/g)).toHaveLength(1);
    expect(lines.match(/nightly {2}/g)).toHaveLength(1);
    expect(lines).toMatch(/^\$ chongming run nigh/);
    reporter.restore();
  });

  test("log lines and what bodies print go above it, whole and without control sequences", async () => {
    const at = screen(80, 24);
    const reporter = open(at);
    running(reporter, ["extract"]);
    pass(100);
    at.stream.write("printed \u001b[2Jby a body\nand ");
    reporter.event({ ...base("extract"), type: "TaskLogLine", level: "warn", message: "careful\u001b[1;1H", fields: { row: 3 } });
    at.stream.write("on\n");
    pass(100);
    const lines = await at.lines();
    expect(lines.slice(0, 3)).toEqual(["printed by a body", 'extract | warn careful {"row":3}', "and on"]);
    expect(lines).toHaveLength(5);
    reporter.restore();
  });

  test("in the end the last frame stays, the summary follows, and the stream is its own again", async () => {
    const at = screen(80, 24);
    const reporter = open(at);
    running(reporter, ["load"]);
    pass(100);
    reporter.event(step("load", "running", "failed"));
    reporter.end(SUMMARY);
    reporter.restore();
    at.stream.write("$ next\n");
    expect(await at.lines()).toEqual([
      expect.stringMatching(/^✗ load {2}failed/),
      "nightly  1/1 ended · 1 failed  1 s",
      "failed: load (exception): broken",
      "run nightly (abcdefgh) failed in 1 s: 1 failed",
      "$ next",
    ]);
  });

  test.each(["pending", "blocked"] as const)("a node that never ran is no failure and not done: %s to cancelled, beside a lost one", async (from) => {
    const at = screen(80, 24);
    const reporter = open(at);
    running(reporter, ["a", "b"]);
    reporter.event(step("c", from, "cancelled"));
    reporter.event(step("a", "running", "lost"));
    reporter.event(step("b", "running", "stopping"));
    pass(100);
    expect((await at.lines()).at(-1)).toMatch(/^nightly {2}2\/3 ended · 1 stopping · 1 lost {2}/);
    reporter.restore();
  });

  describe("a line that the watcher of a blocked loop wrote to the same terminal", () => {
    const said = `warning: task "load" (id-load) has blocked the event loop for 1000 ms, at work (file:///${"x".repeat(100)}/tasks.ts:7)`;
    const warning = (): TaskEvent => ({
      ...base("load"),
      type: "TaskWarning",
      code: "loop_stalled",
      message: `"load" has blocked the event loop, at work (file:///${"x".repeat(100)}/tasks.ts:7) < run (node:internal/x:1). Nothing else could run.`,
      failure: null,
    });
    beforeEach(() => {
      vi.useFakeTimers({ now: START, toFake: ["setInterval", "clearInterval", "Date", "performance"] });
    });
    /** Time passes without a tick, as under a synchronous loop; meanwhile the other thread writes. */
    function block(ms: number): void {
      vi.setSystemTime(Date.now() + ms);
      vi.spyOn(performance, "now").mockReturnValue(performance.now() + ms);
    }
    afterEach(() => void vi.restoreAllMocks());

    test("gives way to the warning above the view, and the view stands once", async () => {
      const at = screen(80, 24);
      const write = at.stream.write.bind(at.stream);
      const reporter = open(at);
      running(reporter, ["extract", "load"]);
      pass(100);
      write(`${said}\n`);
      block(3_000);
      pass(100);
      reporter.event(warning());
      pass(200);
      const lines = await at.lines();
      expect(lines.join("").match(/has blocked the event loop/g)).toHaveLength(1);
      expect(lines.filter((line) => line.startsWith("● extract"))).toHaveLength(1);
      expect(lines.filter((line) => line.startsWith("nightly  "))).toHaveLength(1);
      expect(lines.join("\n")).not.toContain("node:internal");
      reporter.restore();
    });

    test("stays where no warning tells of it, and a whole view begins below it", async () => {
      const at = screen(80, 24);
      const write = at.stream.write.bind(at.stream);
      const reporter = open(at);
      running(reporter, ["extract", "load"]);
      pass(100);
      write("warning: code outside any task\n");
      block(3_000);
      reporter.event(step("load", "running", "succeeded"));
      reporter.end(SUMMARY);
      const lines = await at.lines();
      const from = lines.indexOf("warning: code outside any task");
      expect(lines.slice(from + 1, from + 4)).toEqual([
        expect.stringMatching(/^● extract/),
        expect.stringMatching(/^✓ load/),
        expect.stringMatching(/^nightly {2}1\/2 ended/),
      ]);
    });
  });
});
