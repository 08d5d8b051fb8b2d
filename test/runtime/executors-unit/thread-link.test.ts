import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
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
    const [caught, out] = [join(folder, "caught"), join(folder, "out")];
    // One file says that the thread is inside the call by now, another lets it out.
    const program = `const fs = require("node:fs"); fs.writeFileSync(process.argv[1], ""); setInterval(() => fs.existsSync(process.argv[2]) && process.exit(), 10)`;
    const body = '(await import("node:child_process")).execFileSync(process.execPath, ["-e", ...args]);';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body), args: [program, caught, out] }) });
    await heard.until(() => existsSync(caught), "the native call began");
    link.kill();
    await link.retire();
    expect(link.alive).toBe(true);
    await writeFile(out, "");
    await heard.gone();
    await rm(folder, { recursive: true });
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
