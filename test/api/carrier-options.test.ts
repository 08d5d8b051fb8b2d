import { availableParallelism } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { readCarrierOptions } from "../../src/api/carrier-options.ts";
import { FakeExecutor } from "../../src/testing/fake-executors.ts";

const ownExecArgv = process.execArgv;

afterEach(() => {
  process.execArgv = ownExecArgv;
});

describe("left out", () => {
  test("they are the documented defaults", () => {
    process.execArgv = [];
    expect(readCarrierOptions({})).toEqual({
      default: "async",
      thread: { keep: Math.min(4, availableParallelism()), maxTasks: 1_000, resourceLimits: {} },
      process: { standby: 1, reuse: false, maxTasks: 1_000, execArgv: [] },
      custom: [],
    });
  });
});

describe("given", () => {
  test("they are taken as they are", () => {
    const fake = new FakeExecutor();
    const given = {
      executor: "thread",
      threads: { keep: 0, maxTasks: 1, resourceLimits: { maxOldGenerationSizeMb: 64, stackSizeMb: 4 } },
      processes: { standby: 0, reuse: true, maxTasks: 7, execArgv: ["--enable-source-maps"] },
      executors: [fake],
    };
    expect(readCarrierOptions(given)).toEqual({ default: "thread", thread: given.threads, process: given.processes, custom: [fake] });
  });

  test.each([
    [{ executor: 7 }, "executor must be the kind of an executor; found 7"],
    [{ threads: [] }, "threads must be a plain object"],
    [{ threads: { kepe: 1 } }, 'threads has no option "kepe". Did you mean "keep"?'],
    [{ threads: { keep: -1 } }, "threads.keep must be an integer of at least 0; found -1"],
    [{ threads: { keep: 1.5 } }, "threads.keep must be an integer of at least 0; found 1.5"],
    [{ threads: { maxTasks: 0 } }, "threads.maxTasks must be an integer of at least 1; found 0"],
    [{ threads: { resourceLimits: { maxOldGenerationSizeMb: 0 } } }, "threads.resourceLimits.maxOldGenerationSizeMb must be an integer of at least 1"],
    [{ threads: { resourceLimits: { heap: 1 } } }, 'threads.resourceLimits has no option "heap"'],
    [{ processes: { standby: Number.NaN } }, "processes.standby must be an integer of at least 0; found NaN"],
    [{ processes: { reuse: "yes" } }, 'processes.reuse must be true or false; found "yes"'],
    [{ processes: { maxTasks: "7" } }, 'processes.maxTasks must be an integer of at least 1; found "7"'],
    [{ processes: { execArgv: "--x" } }, 'processes.execArgv must be a list of texts; found "--x"'],
    [{ processes: { execArgv: ["--x", 7] } }, "processes.execArgv must be a list of texts"],
    [{ executors: new FakeExecutor() }, "executors must be a list"],
    [{ executors: [null] }, 'executors[0] must have a kind that begins with "custom:"'],
    [
      { executors: [new FakeExecutor(), { kind: "thread", supports: {}, launch() {}, close() {} }] },
      'executors[1] must have a kind that begins with "custom:"',
    ],
    [{ executors: [{ kind: "custom:x", supports: { pause: "yes" }, launch() {}, close() {} }] }, "executors[0] must have"],
    [{ executors: [{ kind: "custom:x", supports: { pause: true }, launch() {} }] }, "executors[0] must have"],
  ])("wrongly, they are refused: %j", (given, message) => {
    expect(() => readCarrierOptions(given)).toThrow(expect.objectContaining({ code: "CONFIGURATION", message: expect.stringContaining(message) }));
  });
});

describe("options for Node in a child", () => {
  test.each([
    [
      ["--enable-source-maps", "--max-old-space-size=256"],
      ["--enable-source-maps", "--max-old-space-size=256"],
    ],
    [
      ["--import", "tsx", "-r", "dotenv/config"],
      ["--import", "tsx", "-r", "dotenv/config"],
    ],
    [["--inspect-brk=9229", "--inspect", "--debug-port=1"], []],
    [["-e", "console.log(1)"], []],
    [["--eval", "1", "--enable-source-maps"], ["--enable-source-maps"]],
    [["-p", "1"], []],
    [["--print", "1"], []],
    [["-pe", "1"], []],
    [["--test", "--watch", "--cpu-prof", "--heap-prof"], []],
    [["--input-type=module"], []],
    [["--experimental-strip-types"], ["--experimental-strip-types"]],
    [
      ["--conditions=dev", "-C", "dev"],
      ["--conditions=dev", "-C", "dev"],
    ],
    [["--cpu-prof-dir", "/tmp", "--enable-source-maps"], ["--enable-source-maps"]],
    [["--inspect-port", "0", "--enable-source-maps"], ["--enable-source-maps"]],
    [["--test-reporter", "spec", "--enable-source-maps"], ["--enable-source-maps"]],
  ])("are this process's own, less those that debug or evaluate: %j", (own, inherited) => {
    process.execArgv = own;
    expect(readCarrierOptions({}).process.execArgv).toEqual(inherited);
  });
});
