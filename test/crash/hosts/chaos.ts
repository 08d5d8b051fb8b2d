import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Controller, canTransition, isTerminal } from "../../../src/index.ts";
import type { TaskHandle, TaskSnapshot } from "../../../src/index.ts";
import { processChore, threadChore } from "../../carriers/fixtures/chores.ts";
import type { Ending } from "../../carriers/fixtures/chores.ts";
import { holdings, holdingsAfter, settleIn } from "../support/holdings.ts";
import { say } from "../support/say.ts";

// Many tasks over two slots; children are killed and tasks are stopped, paused and resumed at random. Then it is counted
// what is left.
const [seed, count] = process.argv.slice(2).map(Number) as [number, number];
const random = mulberry32(seed);
const pick = <Item>(items: readonly [Item, ...Item[]]): Item => items[Math.floor(random() * items.length)] ?? items[0];

await settleIn();
const before = holdings();
const wrong: string[] = [];
const controller = await Controller.open({
  tasks: [threadChore, processChore],
  concurrency: { maxParallel: 2 },
  threads: { keep: 2, maxTasks: 20 },
  processes: { standby: 1, reuse: true, maxTasks: 20 },
  logger: { debug() {}, info() {}, warn: (message) => void wrong.push(`warn: ${message}`), error: (message) => void wrong.push(`error: ${message}`) },
});
const handles: TaskHandle<string>[] = [];
for (let nth = 0; nth < count; nth += 1) {
  const ending = pick<Ending>(["return", "return", "return", "return", "throw", "exit", "deaf", "busy"]);
  handles.push(
    await controller.submit(nth % 2 === 0 ? threadChore : processChore, [ending, Math.floor(random() * 30)], { retry: { maxAttempts: 2, backoff: () => 0 } }),
  );
}
const open = new Set(handles.map((handle) => handle.id));
const ends = Promise.all(handles.map(async (handle) => await handle.wait({ timeout: "none" }).finally(() => open.delete(handle.id))));
type Fate = "killed" | "stopped" | "paused" | "spared";
// Drawn once for each task: a slow machine must not stop more of them.
const fates = new Map<string, Fate>();
const killedPids = new Set<number>();
while (open.size > 0) {
  await sleep(random() * 6);
  const { items } = await controller.list({ status: ["starting", "running", "pausing", "paused"], limit: 10 });
  const victim = items[Math.floor(random() * items.length)];
  if (victim === undefined) continue;
  const { taskId, pid, status } = victim;
  const fate = fates.get(taskId) ?? pick<Fate>(["killed", "stopped", "paused", "paused", "spared", "spared", "spared"]);
  fates.set(taskId, fate);
  // A child that will not end by itself is killed from outside; a thread can only be stopped.
  if (pid !== null && (fate === "killed" || isStuck(victim))) kill(pid);
  if (fate === "stopped" || (victim.executor === "thread" && isStuck(victim))) void controller.stop(taskId, { grace: random() * 100 }).catch(() => undefined);
  if (fate === "paused" && status === "running") void controller.pause(taskId, { timeout: 50 }).catch(() => undefined);
  if (status === "paused") void controller.resume(taskId).catch(() => undefined);
}
const snapshots = await ends;
for (const { taskId } of snapshots) await examine(taskId);
const tally: Record<string, number> = {};
for (const { status } of snapshots) tally[status] = (tally[status] ?? 0) + 1;
await controller.close({ grace: 0 });
say({ end: { tally, kills: killedPids.size, wrong, before, after: await holdingsAfter(before) } });

/** It has run for longer than any chore takes that ends by itself. */
function isStuck({ startedAt, status }: TaskSnapshot): boolean {
  return status === "running" && startedAt !== null && Date.now() - startedAt > 300;
}

/** Only while it is our own child: a number on the record may be somebody else's by now. */
function kill(pid: number): void {
  if (killedPids.has(pid) || parentOf(pid) !== process.pid) return;
  killedPids.add(pid);
  process.kill(pid, "SIGKILL");
}

function parentOf(pid: number): number | null {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return null;
  }
}

async function examine(taskId: string): Promise<void> {
  const [history, attempts, snapshot] = await Promise.all([controller.history(taskId), controller.attempts(taskId), controller.get(taskId)]);
  const told = `${taskId}: ${history.map((step) => step.to).join(", ")}`;
  if (history.filter((step) => isTerminal(step.to)).length !== 1 || history.at(-1)?.to !== snapshot.status) wrong.push(`not one end: ${told}`);
  if (!history.every((step, index) => step.statusVersion === index + 1 && canTransition(step.from, step.to))) wrong.push(`illegal: ${told}`);
  if (attempts.length !== snapshot.attempt || !attempts.every((attempt) => attempt.endedAt !== null && attempt.executor !== null))
    wrong.push(`incomplete: ${told}`);
}

function mulberry32(start: number): () => number {
  let state = start | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
