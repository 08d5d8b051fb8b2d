import { expect, test, vi } from "vitest";
import { Carrier } from "../../src/runtime/executors/carrier.ts";
import type { FromCarrier, Job } from "../../src/runtime/executors/protocol.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";

const job: Job = {
  taskId: "t1",
  pipelineRunId: null,
  name: "progressing",
  attempt: 1,
  fencingToken: 1,
  module: new URL("./fixtures/progressing.ts", import.meta.url).href,
  args: [],
  deadlineAt: null,
  asksToBegin: false,
  activeGapMs: null,
  saved: undefined,
  artifacts: "/nowhere",
};

async function wordsOf(changes: Partial<Job>): Promise<readonly string[]> {
  const said: FromCarrier["type"][] = [];
  const inbox = { changed: false, drain() {}, sleep() {} };
  const carrier = new Carrier(systemClock, { post: (message) => void said.push(message.type), inbox, retire() {} });
  carrier.receive({ type: "run", job: { ...job, ...changes } });
  await vi.waitFor(() => expect(said).toContain("returned"), { timeout: 10_000 });
  return said;
}

test("progress is a sign of life, also while the report is held back", async () => {
  expect(await wordsOf({ activeGapMs: 0 })).toEqual(["launched", "active", "progress", "active", "active", "progress", "returned"]);
});

test("signs of life are passed on no more often than somebody wants them", async () => {
  expect(await wordsOf({ activeGapMs: 60_000 })).toEqual(["launched", "active", "progress", "progress", "returned"]);
  expect(await wordsOf({ activeGapMs: null })).toEqual(["launched", "progress", "progress", "returned"]);
});
