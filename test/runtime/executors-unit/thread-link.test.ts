import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ThreadLink } from "../../../src/runtime/executors/thread-link.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { jobOf, Listening, taskModule } from "./support/listening.ts";

const links: ThreadLink[] = [];

afterEach(async () => {
  for (const link of links.splice(0)) {
    link.kill();
    await link.retire();
  }
});

function newLink(resourceLimits = {}): ThreadLink {
  const link = new ThreadLink(systemClock, resourceLimits);
  links.push(link);
  return link;
}

describe("a worker thread", () => {
  test("runs one job after the other, and says when it goes", async () => {
    const link = newLink();
    for (const value of [1, 2]) {
      const heard = new Listening(link);
      link.post({ type: "run", job: jobOf("returns", { args: [value] }) });
      expect(await heard.end()).toMatchObject({ type: "returned", value });
    }
    const heard = new Listening(link);
    await link.retire();
    expect(heard.exit).toEqual({ exitCode: 0, signal: null, reason: null });
    expect({ alive: link.alive, pid: link.pid }).toEqual({ alive: false, pid: null });
    await link.retire();
  });

  test("hears a stop though its loop never turns", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("sync checkpoints") });
    await heard.until(() => heard.of("emit").length > 3, "it ran");
    link.post({ type: "stop", message: "stopped" });
    expect(await heard.end()).toMatchObject({ type: "threw", error: { code: "TASK_CANCELLED" }, noticed: true });
  });

  test("that is deaf is ended", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("deaf") });
    await heard.until(() => heard.of("emit").length > 0, "it ran");
    link.kill();
    expect(await heard.gone()).toMatchObject({ exitCode: 1 });
    expect(link.alive).toBe(false);
  });

  test("that is kept busy by what a task left is ended all the same when it is sent home", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule("setInterval(() => {}, 1000)") }) });
    await heard.end();
    await link.retire();
    expect(link.alive).toBe(false);
  });

  test("that is caught in native code is not waited for when it is sent home", async () => {
    const link = newLink();
    const heard = new Listening(link);
    const folder = await mkdtemp(join(tmpdir(), "chongming-native-"));
    const caught = join(folder, "caught");
    // The file says that the thread is inside the call by now.
    const program = `require("node:fs").writeFileSync(${JSON.stringify(caught)}, ""); setTimeout(() => {}, 6000)`;
    const body = '(await import("node:child_process")).execFileSync(process.execPath, ["-e", args[0]]);';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body), args: [program] }) });
    await heard.until(() => existsSync(caught), "the native call began");
    link.kill();
    await link.retire();
    expect(link.alive).toBe(true);
    await heard.gone();
    await rm(folder, { recursive: true });
  });

  test("refuses at once what cannot be copied, and works on", async () => {
    const link = newLink();
    const heard = new Listening(link);
    expect(() => link.post({ type: "run", job: jobOf("returns", { args: [() => 1] }) })).toThrow("could not be cloned");
    link.post({ type: "run", job: jobOf("returns", { args: [1] }) });
    expect(await heard.end()).toMatchObject({ value: 1 });
  });
});

describe("what it prints", () => {
  test("comes line by line, before the end of the task, and not on this process's own streams", async () => {
    const link = newLink();
    const heard = new Listening(link);
    const body =
      'process.stdout.write("one\\ntw"); process.stdout.write(new TextEncoder().encode("o 😀\\nno end")); console.error("wrong"); await new Promise((done) => process.stdout.write("!", done)); return "printed";';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body) }) });
    expect(await heard.end()).toMatchObject({ type: "returned", value: "printed" });
    expect(heard.lines("stdout")).toEqual(["one", "two 😀", "no end!"]);
    expect(heard.lines("stderr")).toEqual(["wrong"]);
    expect(heard.said.at(-1)?.type).toBe("returned");
  });

  test("is not lost by process.exit", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule('console.log("last words"); process.exit(3);') }) });
    expect(await heard.gone()).toEqual({ exitCode: 3, signal: null, reason: null });
    expect(heard.lines("stdout")).toEqual(["last words"]);
  });

  test("of one task is not the next one's", async () => {
    const link = newLink();
    const first = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule('process.stdout.write("no end");') }) });
    await first.end();
    const second = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule('console.log("mine");') }) });
    await second.end();
    expect([first.lines("stdout"), second.lines("stdout")]).toEqual([["no end"], ["mine"]]);
  });

  test("late, after its end, is not the next one's", async () => {
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

describe("a worker thread that dies", () => {
  test("of memory says so", async () => {
    const link = newLink({ maxOldGenerationSizeMb: 16 });
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule("const hoard = []; for (;;) hoard.push(new Array(1000).fill(hoard.length));") }) });
    expect(await heard.gone()).toMatchObject({ reason: "ran out of memory (resourceLimits)" });
  });

  test("of an exception that nobody caught, outside any task, says which", async () => {
    const link = newLink();
    const heard = new Listening(link);
    // At the top of the module, so no task is running.
    const module = `data:text/javascript,${encodeURIComponent('setTimeout(() => { throw new RangeError("astray"); }, 20); await new Promise(() => {});')}`;
    link.post({ type: "load", tasks: [{ module, name: "it" }] });
    expect(await heard.gone()).toMatchObject({ exitCode: 1, reason: "was ended by an uncaught RangeError (astray)" });
  });
});
