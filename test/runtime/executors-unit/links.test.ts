import { afterEach, describe, expect, test } from "vitest";
import type { PooledLink } from "../../../src/runtime/executors/carrier-pool.ts";
import { ProcessLink } from "../../../src/runtime/executors/process-link.ts";
import { ThreadLink } from "../../../src/runtime/executors/thread-link.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { jobOf, Listening, taskModule } from "./support/listening.ts";

// What every carrier with a line of its own keeps to; what only one of them can do is in its own file.
const MAKERS = {
  "worker thread": () => new ThreadLink(systemClock, {}),
  "child process": () => new ProcessLink(systemClock, { execArgv: [] }),
} as const;

describe.each(["worker thread", "child process"] as const)("a %s", (kind) => {
  const links: PooledLink[] = [];

  afterEach(async () => {
    for (const link of links.splice(0)) {
      link.kill();
      await link.retire();
    }
  });

  function newLink(): PooledLink {
    const link = MAKERS[kind]();
    links.push(link);
    return link;
  }

  test("hears a stop though its loop never turns", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("sync checkpoints") });
    await heard.until(() => heard.of("emit").length > 3, "it ran");
    link.post({ type: "stop", message: "stopped" });
    expect(await heard.end()).toMatchObject({ type: "threw", error: { code: "TASK_CANCELLED" }, noticed: true });
  });

  test("refuses at once what cannot be copied, and works on", async () => {
    const link = newLink();
    const heard = new Listening(link);
    expect(() => link.post({ type: "run", job: jobOf("returns", { args: [() => 1] }) })).toThrow("could not be cloned");
    link.post({ type: "run", job: jobOf("returns", { args: [1] }) });
    expect(await heard.end()).toMatchObject({ value: 1 });
  });

  test("loses nothing of what was printed and said before process.exit", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule('console.log("last words"); ctx.emit("last", 1); process.exit(3);') }) });
    expect(await heard.gone()).toEqual({ exitCode: 3, signal: null, reason: null });
    expect(heard.lines("stdout")).toEqual(["last words"]);
    expect(heard.of("emit")).toEqual([{ type: "emit", kind: "last", payload: 1 }]);
  });

  test("does not take what one task prints for the next one's", async () => {
    const link = newLink();
    const first = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule('process.stdout.write("no end");') }) });
    await first.end();
    const second = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { taskId: "t2", module: taskModule('console.log("mine");') }) });
    await second.end();
    expect([first.lines("stdout"), second.lines("stdout")]).toEqual([["no end"], ["mine"]]);
  });

  test("does not take what a task prints after its end for the next one's", async () => {
    const link = newLink();
    const first = new Listening(link);
    const body =
      'setTimeout(() => { process.stdout.write("late without end"); console.log("late"); console.error("late"); globalThis.saidLate = true; }, 100); console.log("in time");';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body) }) });
    await first.end();
    const second = new Listening(link);
    const waits = 'while (!globalThis.saidLate) await new Promise((next) => setTimeout(next, 5)); console.log("mine");';
    // The same task again: two attempts are as much apart as two tasks.
    link.post({ type: "run", job: jobOf("it", { attempt: 2, module: taskModule(waits) }) });
    await second.end();
    expect([first.lines("stdout"), second.lines("stdout"), second.lines("stderr")]).toEqual([["in time"], ["mine"], []]);
  });
});
