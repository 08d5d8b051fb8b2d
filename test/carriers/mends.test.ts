import { expect, test } from "vitest";
import { systemClock } from "../../src/runtime/system-clock.ts";
import { ProcessExecutor } from "../../src/runtime/executors/process.ts";
import type { ProcessLink } from "../../src/runtime/executors/process-link.ts";
import { ReportRecorder } from "../../src/testing/executor-recorder.ts";
import { jobOf } from "../runtime/executors-unit/support/listening.ts";

/** Its first child can be made, and none after it. */
class OneChild extends ProcessExecutor {
  made = 0;

  protected override make(): ProcessLink {
    this.made += 1;
    if (this.made > 1) throw new Error("no more children");
    return super.make();
  }
}

test("a task that has begun is not failed by a child that cannot be made ahead of the next one", async () => {
  const executor = new OneChild(systemClock, { standby: 1, reuse: false, maxTasks: 1, execArgv: [] });
  const { activeGapMs: _, deadlineAt, ...job } = jobOf("returns", { args: [7] });
  const { module, name } = job;
  try {
    await executor.prepare([{ module, name }]);
    const request = {
      ...job,
      run: () => undefined,
      idleMs: null,
      deadlineAt: () => deadlineAt,
      upstream: async () => await Promise.resolve(),
      reports: new ReportRecorder(),
    };
    expect(await executor.launch(request).settled).toMatchObject({ type: "returned", value: 7 });
    expect(executor.made).toBe(2);
  } finally {
    await executor.close();
  }
});
