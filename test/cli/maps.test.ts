import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createFailure } from "../../src/core/failure.ts";
import { NO_TIMES } from "../../src/core/attempt.ts";
import type { TaskEvent } from "../../src/core/events.ts";
import { LiveReporter } from "../../src/cli/output/live-reporter.ts";
import { Output } from "../../src/cli/output/output.ts";
import { createPaint } from "../../src/cli/output/paint.ts";
import { createPlainReporter } from "../../src/cli/output/plain-reporter.ts";
import type { Reporter } from "../../src/cli/output/reporter.ts";
import { chongming, fixture, records } from "./chongming.ts";
import { fakeStream } from "./fake-host.ts";
import { base, began, progress, step } from "./sample-events.ts";
import { screen } from "./screen.ts";
import type { Screen } from "./screen.ts";

const MAPS = ["--tasks", fixture("maps.ts")];

function open(at: Screen, verbose = false): LiveReporter {
  return new LiveReporter(new Output(at.stream), {
    title: "nightly",
    others: [],
    sharesStderr: true,
    verbose,
    paint: createPaint(false),
  });
}

/** A map that has made its items. */
function expanded(reporter: Reporter, name: string, total: number): void {
  reporter.event(step(name, "blocked", "queued"));
  reporter.event(began(name, "map"));
  reporter.event(step(name, "starting", "running"));
  for (let index = 0; index < total; index += 1) {
    reporter.event({ ...base(`${name}[${index}]`), type: "TaskCreated" });
    reporter.event(step(`${name}[${index}]`, "pending", "queued"));
  }
  reporter.event(progress(name, 0, total, "items"));
}

function failure(name: string): TaskEvent {
  const attempt = { ...(began(name) as TaskEvent & { readonly type: "AttemptStarted" }).attempt, ...NO_TIMES };
  return { ...base(name), type: "AttemptFailed", attempt, failure: createFailure({ kind: "exception", message: `no luck with ${name}` }), retryAt: null };
}

describe("the live view of a map", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000, toFake: ["setInterval", "clearInterval", "Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test.each([120, 80])("of 10,000 items is one line with their counts, at %i columns", async (columns) => {
    const at = screen(columns, 24);
    const reporter = open(at);
    reporter.event(step("load", "pending", "blocked"));
    expanded(reporter, "enrich", 10_000);
    for (let index = 0; index < 3_222; index += 1) {
      reporter.event(step(`enrich[${index}]`, "queued", "running"));
      if (index < 3_212) reporter.event(step(`enrich[${index}]`, "running", "succeeded"));
      else if (index < 3_214) reporter.event(step(`enrich[${index}]`, "running", "failed"));
    }
    reporter.event(progress("enrich", 3_214, 10_000, "items"));
    vi.advanceTimersByTime(100);
    const lines = await at.lines();
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^● enrich +running +[━─]+ +3,214\/10,000 +· 8 running · 2 failed +\S/);
    expect(lines[2]).toMatch(/^nightly {2}0\/2 ended · 1 running {2}/);
    reporter.restore();
  });

  test("keeps the counts of its items until little room is left", async () => {
    const at = screen(40, 24);
    const reporter = open(at);
    expanded(reporter, "enrich", 100);
    for (let index = 0; index < 4; index += 1) reporter.event(step(`enrich[${index}]`, "queued", "running"));
    vi.advanceTimersByTime(100);
    const [line = ""] = await at.lines();
    expect(line).toMatch(/^● enrich .*· 4 running/);
    reporter.restore();
  });

  test("tells why the first of its items failed, and counts the others", async () => {
    const at = screen(120, 24);
    const reporter = open(at);
    expanded(reporter, "enrich", 100);
    for (let index = 0; index < 50; index += 1) {
      reporter.event(failure(`enrich[${index}]`));
      reporter.event(step(`enrich[${index}]`, "running", "failed"));
    }
    vi.advanceTimersByTime(100);
    const lines = await at.lines();
    expect(lines.filter((line) => line.includes("no luck with"))).toHaveLength(20);
    expect(lines).toContain("enrich: what fails of its items beyond these 20 is only counted");
    expect(lines.at(-2)).toContain("· 50 failed");
    reporter.restore();
  });

  test("says that more are only counted where there are more", async () => {
    const at = screen(120, 40);
    const reporter = open(at);
    expanded(reporter, "enrich", 100);
    for (let index = 0; index < 20; index += 1) reporter.event(failure(`enrich[${index}]`));
    vi.advanceTimersByTime(100);
    const seen = await at.lines();
    expect(seen.filter((line) => line.includes("no luck with"))).toHaveLength(20);
    expect(seen.join("\n")).not.toContain("only counted");
    reporter.event(failure("enrich[20]"));
    reporter.event(failure("enrich[21]"));
    vi.advanceTimersByTime(100);
    expect((await at.lines()).filter((line) => line.includes("only counted"))).toHaveLength(1);
    reporter.restore();
  });

  test("shows no more progress than its items have told", async () => {
    const at = screen(120, 24);
    const reporter = open(at);
    expanded(reporter, "enrich", 4);
    for (let index = 0; index < 4; index += 1) reporter.event(step(`enrich[${index}]`, "queued", "running"));
    reporter.event(step("enrich[0]", "running", "succeeded"));
    reporter.event(progress("enrich", 4, 4, "items"));
    vi.advanceTimersByTime(100);
    expect((await at.lines())[0]).toMatch(/ 1\/4 +· 3 running /);
    for (let index = 1; index < 4; index += 1) reporter.event(step(`enrich[${index}]`, "running", "succeeded"));
    vi.advanceTimersByTime(100);
    expect((await at.lines())[0]).toMatch(/ 4\/4 /);
    reporter.restore();
  });

  test("has a whole line for a node that is only named like an item", async () => {
    const at = screen(80, 24);
    const reporter = open(at);
    reporter.event(step("part[0]", "pending", "queued"));
    reporter.event(step("part", "pending", "queued"));
    vi.advanceTimersByTime(100);
    expect(await at.lines()).toHaveLength(3);
    reporter.restore();
  });

  test("beside 200 nodes stays within the terminal's height", async () => {
    const at = screen(100, 24);
    const reporter = open(at);
    for (let index = 0; index < 200; index += 1) reporter.event(step(`part-${index}`, "pending", index < 190 ? "succeeded" : "blocked"));
    expanded(reporter, "enrich", 1_000);
    reporter.event(step("enrich[7]", "queued", "running"));
    vi.advanceTimersByTime(100);
    const lines = await at.lines();
    expect(lines.length).toBeLessThanOrEqual(23);
    expect(lines[0]).toMatch(/^● enrich +running/);
    expect(lines.at(-2)).toMatch(/^… \d+ more: /);
    expect(lines.at(-1)).toMatch(/^nightly {2}190\/201 ended · 1 running/);
    reporter.restore();
  });
});

describe("the plain lines of a map", () => {
  function plain(): { readonly reporter: Reporter; readonly lines: () => readonly string[] } {
    const stream = fakeStream();
    const reporter = createPlainReporter(new Output(stream), new Output(fakeStream()), { paint: createPaint(false), verbose: false, quiet: false });
    return {
      reporter,
      lines: () =>
        stream
          .text()
          .trimEnd()
          .split("\n")
          .map((line) => line.trim().replace(/^.*? ms {2}/, "")),
    };
  }

  test("tell its progress when its items have told as much", () => {
    const { reporter, lines } = plain();
    expanded(reporter, "enrich", 3);
    for (let index = 0; index < 3; index += 1) reporter.event(step(`enrich[${index}]`, "queued", "running"));
    reporter.event(step("enrich[0]", "running", "failed"));
    reporter.event(step("enrich[1]", "running", "succeeded"));
    reporter.event(progress("enrich", 3, 3, "items"));
    expect(lines().at(-1)).toBe("enrich 0 %  0/3 items");
    reporter.event(step("enrich[2]", "running", "succeeded"));
    expect(lines().slice(-1)).toEqual(["enrich 100 %  3/3 items  1 failed"]);
    reporter.event(step("enrich", "running", "succeeded"));
    expect(lines().slice(-2)).toEqual(["enrich 100 %  3/3 items  1 failed", "enrich succeeded"]);
  });

  test("call the attempts of an item as those of a task", async () => {
    const { stdout } = await chongming(["run", "again-and-again", ...MAPS]);
    const lines = stdout.split("\n").filter((line) => line.includes("attempt"));
    for (const name of ["stubborn-map\\[0\\]", "stubborn-map\\[1\\]", "stubborn"]) {
      expect(lines).toContainEqual(expect.stringMatching(`^ +\\d+ ms {2}${name} attempt 1/2 failed \\(exception\\): no; again in`));
      expect(lines).toContainEqual(expect.stringMatching(`^ +\\d+ ms {2}${name} failed at attempt 2/2 \\(exception\\): no$`));
    }
  });
});

describe("run of a pipeline with maps", () => {
  test("tells a map of 10,000 collapsed, and how its items ended", async () => {
    const { exitCode, stdout } = await chongming(["run", "fan", "--args", "[10000]", ...MAPS]);
    expect(exitCode).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThan(60);
    expect(stdout).toMatch(/ enrich\[4999\] failed \(exception\): no luck with 4999\n/);
    expect(stdout).toMatch(/ enrich 100 % {2}10,000\/10,000 items .*2 failed\n/);
    expect(lines.slice(-3)).toEqual([
      "map enrich succeeded: 10000 items: 9998 succeeded, 2 failed",
      "map again succeeded: 3 items: 3 succeeded",
      expect.stringMatching(/^run fan \(\w{8}\) succeeded in .*: 4 succeeded$/),
    ]);
  });

  test("as data has the maps in its summary, and every event of every item", async () => {
    const { stdout } = await chongming(["run", "fan", "--args", "[3]", "--json", ...MAPS]);
    const all = records(stdout);
    expect(all.at(-1)).toMatchObject({
      type: "RunSummary",
      total: 4,
      maps: [{ node: "enrich", status: "succeeded", total: 3, counts: { succeeded: 3 } }, { node: "again" }],
    });
    expect(all.filter(({ node, to }) => node === "enrich[1]" && to === "succeeded")).toHaveLength(1);
  });

  test("a failed map is 1, and the item that failed first is named", async () => {
    const { exitCode, stdout } = await chongming(["run", "flops", "--args", "[100]", ...MAPS]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/failed: flop \(exception\): ItemsFailed: 100 of 100 items did not succeed; the first was flop\[0\] \(failed, \w{16}\): flop 0\n/);
    expect(stdout).toMatch(/\nmap flop failed: 100 items: 100 failed\n/);
  });

  test("a map without items succeeds", async () => {
    const { exitCode, stdout } = await chongming(["run", "fan", "--args", "[0]", ...MAPS]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/map enrich succeeded: no items\nmap again succeeded: no items\n/);
  });
});

describe("graph draws a map as such", () => {
  test("as text", async () => {
    const { stdout } = await chongming(["graph", "fan", "--args", "[1]", ...MAPS]);
    expect(stdout).toBe(
      [
        "fan: 4 nodes, 3 edges, 4 layers, all_settled",
        "layer 1",
        "  numbers",
        "layer 2",
        "  enrich[…]          ← numbers  map  max 8 at once  keep failed items",
        "layer 3",
        "  again[…] (enrich)  ← enrich  map",
        "layer 4",
        "  count              ← again",
        "",
      ].join("\n"),
    );
  });

  test("in Mermaid and DOT", async () => {
    const mermaid = await chongming(["graph", "fan", "--args", "[1]", "--format", "mermaid", ...MAPS]);
    expect(mermaid.stdout).toContain('  n1[["enrich#91;#8230;#93;, max 8 at once, keep failed items"]]\n');
    expect(mermaid.stdout).toContain('  n3["count"]\n');
    const dot = await chongming(["graph", "fan", "--args", "[1]", "--format", "dot", ...MAPS]);
    expect(dot.stdout).toContain('  n1 [label="enrich[…]\\nmax 8 at once\\nkeep failed items", peripheries=2];\n');
  });

  test("as data", async () => {
    const { stdout } = await chongming(["graph", "fan", "--args", "[1]", "--json", ...MAPS]);
    expect(JSON.parse(stdout)).toMatchObject({
      nodes: [{ name: "numbers", kind: "task" }, { name: "enrich", kind: "map", map: { maxParallel: 8, failedItems: "keep" } }, {}, {}],
    });
  });
});
