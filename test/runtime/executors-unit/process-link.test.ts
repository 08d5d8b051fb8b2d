import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ProcessLink } from "../../../src/runtime/executors/process-link.ts";
import { processExists } from "../../../src/runtime/executors/platform.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { jobOf, Listening, taskModule } from "./support/listening.ts";

const links: ProcessLink[] = [];

afterEach(async () => {
  for (const link of links.splice(0)) {
    link.kill();
    await link.retire();
  }
});

function newLink(execArgv: readonly string[] = []): ProcessLink {
  const link = new ProcessLink(systemClock, { execArgv });
  links.push(link);
  return link;
}

describe("a child process", () => {
  test("runs one job after the other, and ends by itself when it is sent home", async () => {
    const link = newLink();
    for (const value of [1, 2]) {
      const heard = new Listening(link);
      link.post({ type: "run", job: jobOf("returns", { args: [value], attempt: value }) });
      expect(await heard.end()).toMatchObject({ type: "returned", value });
    }
    const heard = new Listening(link);
    const pid = link.pid ?? 0;
    expect(processExists(pid)).toBe(true);
    await link.retire();
    expect(heard.exit).toEqual({ exitCode: 0, signal: null, reason: null });
    expect({ alive: link.alive, there: processExists(pid) }).toEqual({ alive: false, there: false });
    await link.retire();
  });

  test("that is deaf is ended, and the signal is known", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("deaf") });
    await heard.until(() => heard.of("emit").length > 0, "it ran");
    link.kill();
    expect(await heard.gone()).toEqual({ exitCode: null, signal: "SIGKILL", reason: null });
  });

  test.each([3, 4])("whose line was written to by somebody else is ended, and this process lives on (file descriptor %i)", async (fd) => {
    const link = newLink();
    const heard = new Listening(link);
    const body = `ctx.emit("ready", null); (await import("node:fs")).writeSync(${fd}, "hello\\n"); await new Promise(() => setInterval(() => {}, 1000));`;
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body) }) });
    expect(await heard.gone()).toMatchObject({ signal: "SIGKILL", reason: expect.stringContaining(`somebody wrote to file descriptor ${fd}`) });
    expect(heard.said.at(-1)?.type).not.toBe("returned");
  });

  test.each([3, 4])("that has closed its line is ended, and the reason says so (file descriptor %i)", async (fd) => {
    const link = newLink();
    const heard = new Listening(link);
    // Seen from here: the helper thread, which would end the child itself, is not told.
    const body = `(await import("node:fs")).closeSync(${fd}); for (;;);`;
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body) }) });
    expect(await heard.gone()).toMatchObject({
      signal: "SIGKILL",
      reason: expect.stringContaining(`it had closed its line to its supervisor (file descriptor ${fd})`),
    });
  });

  test("hears what is asked together with a job, though the two come by different ways", async () => {
    const link = newLink();
    // It leaves the main thread something to do, so that the job and the question both wait for it.
    const body =
      "setTimeout(() => { for (const until = performance.now() + 20; performance.now() < until;); }, 1); if (args[0]) for (;;) ctx.checkpointSync(); await new Promise((done) => setTimeout(done, 0));";
    const module = taskModule(body);
    for (let round = 1; round <= 10; round += 1) {
      const before = new Listening(link);
      link.post({ type: "run", job: jobOf("it", { module, args: [false], attempt: round }) });
      await before.end();
      const heard = new Listening(link);
      link.post({ type: "run", job: jobOf("it", { module, args: [true], attempt: round }) });
      link.post({ type: "pause", nth: 1 });
      await heard.until(() => heard.of("pauseReached").length > 0, "it paused");
      link.post({ type: "resume" });
      link.post({ type: "stop", message: "enough" });
      expect(await heard.end()).toMatchObject({ type: "threw", noticed: true, error: { failure: { message: "enough" } } });
    }
  });

  test("does not take what was asked of a job that is over for the next one", async () => {
    const link = newLink();
    const module = taskModule("for (const until = performance.now() + 50; performance.now() < until;) ctx.checkpointSync(); return ctx.deadline;");
    for (let round = 1; round <= 5; round += 1) {
      const heard = new Listening(link);
      link.post({ type: "run", job: jobOf("it", { module, attempt: round }) });
      expect(await heard.end()).toMatchObject({ type: "returned", value: null, noticed: false });
      link.post({ type: "deadline", at: 5 });
      link.post({ type: "pause", nth: 1 });
      link.post({ type: "stop", message: "late" });
    }
  });

  test("does not take the inspector's port with NODE_OPTIONS", async () => {
    vi.stubEnv("NODE_OPTIONS", "--inspect=127.0.0.1:0 --no-warnings --inspect-port=0 --inspect-brk");
    const link = newLink();
    vi.unstubAllEnvs();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule("return process.env.NODE_OPTIONS.trim();") }) });
    expect(await heard.end()).toMatchObject({ value: "--no-warnings" });
  });

  test("refuses what bytes cannot carry where it is said, with its path", async () => {
    const link = newLink();
    const heard = new Listening(link);
    const body =
      'const said = []; const values = { memory: new SharedArrayBuffer(8), blob: new Blob(["x"]) }; for (const say of [(v) => ctx.emit("k", v), (v) => ctx.save(v)]) for (const key in values) try { say({ rows: [values[key]] }); said.push("went"); } catch (error) { said.push(error.message.split(" cannot")[0]); } ctx.emit("refused", said); for (const key in values) ctx.log.info("m", { rows: [values[key]] }); return { deep: [values.blob] };';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body) }) });
    expect(await heard.end()).toMatchObject({
      type: "threw",
      error: { failure: { message: expect.stringMatching(/^result\.deep\[0\] cannot leave its process: Blob can/) } },
    });
    const paths = ['ctx.emit: payload of "k".rows[0]', "ctx.save(state).rows[0]"].flatMap((path) => [path, path]);
    expect(heard.of("emit")).toEqual([{ type: "emit", kind: "refused", payload: paths }]);
    expect(heard.of("log").map(({ fields }) => fields)).toEqual([{ rows: ["SharedArrayBuffer {}"] }, { rows: ["Blob {}"] }]);
  });

  test("that floods waits until it is read", async () => {
    const link = newLink();
    const heard = new Listening(link);
    const counts = new Int32Array(1);
    const folder = await mkdtemp(join(tmpdir(), "chongming-flood-"));
    const file = join(folder, "count");
    const body =
      'const { appendFileSync } = await import("node:fs"); const text = "x".repeat(65536); for (let nth = 0; nth < 400; nth += 1) { ctx.emit("flood", text); appendFileSync(args[0], "."); }';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body), args: [file] }) });
    await heard.until(() => existsSync(file), "the flood began");
    // Nobody reads while this thread sleeps.
    const nap = new Int32Array(new SharedArrayBuffer(4));
    for (let before = -1, now = 0; now !== before;) {
      Atomics.wait(nap, 0, 0, 500);
      before = now;
      now = statSync(file).size;
      counts[0] = now;
    }
    const read = heard.of("emit").length;
    expect((counts[0] ?? 0) - read).toBeLessThan(60);
    await heard.end();
    expect(heard.of("emit")).toHaveLength(400);
    await rm(folder, { recursive: true });
  });

  test("that cannot be started for want of file descriptors dies like any other, and this process lives on", () => {
    const fixture = fileURLToPath(new URL("support/out-of-descriptors.ts", import.meta.url));
    const script = `ulimit -n 60; exec "${process.execPath}" "${fixture}"`;
    const said = execFileSync("/bin/sh", ["-c", script], { encoding: "utf8", timeout: 20_000 });
    expect(JSON.parse(said)).toEqual({ exitCode: null, signal: null, reason: expect.stringMatching(/^could not be started \(.*EMFILE/), alive: false });
  });

  test("that cannot run its first file dies with its exit code, and what it said is known", async () => {
    const link = newLink(["--no-such-option"]);
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("returns") });
    expect(await heard.gone()).toMatchObject({ exitCode: 9 });
    expect(heard.lines("stderr").join()).toContain("--no-such-option");
  });
});

describe("what it prints", () => {
  test("comes line by line, before the end of the task", async () => {
    const link = newLink();
    const heard = new Listening(link);
    const body = 'process.stdout.write("one\\ntw"); process.stdout.write(new TextEncoder().encode("o 😀\\nno end")); console.error("wrong"); return "printed";';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body) }) });
    expect(await heard.end()).toMatchObject({ type: "returned", value: "printed" });
    expect(heard.lines("stdout")).toEqual(["one", "two 😀", "no end"]);
    expect(heard.lines("stderr")).toEqual(["wrong"]);
    expect(heard.said.at(-1)?.type).toBe("returned");
  });

  test("by a program that it started is there, too", async () => {
    const link = newLink();
    const heard = new Listening(link);
    const body = '(await import("node:child_process")).execFileSync(process.execPath, ["-e", "console.log(42)"], { stdio: "inherit" });';
    link.post({ type: "run", job: jobOf("it", { module: taskModule(body) }) });
    await heard.end();
    expect(heard.lines("stdout")).toEqual(["42"]);
  });

  test("on file descriptors themselves is there before the end, however much", async () => {
    const link = newLink();
    const body =
      'const { writeSync } = await import("node:fs"); for (const fd of [1, 2]) { const text = Buffer.from(`${"x".repeat(999)}\\n`.repeat(100)); for (let at = 0; at < text.length;) at += writeSync(fd, text, at); }';
    for (let round = 1; round <= 20; round += 1) {
      const heard = new Listening(link);
      link.post({ type: "run", job: jobOf("it", { module: taskModule(body), attempt: round }) });
      await heard.end();
      expect([heard.lines("stdout").length, heard.lines("stderr").length]).toEqual([100, 100]);
    }
  });

  test("is not waited for where the task has closed its stream", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule('console.log("before"); (await import("node:fs")).closeSync(1); return 7;') }) });
    expect(await heard.end()).toMatchObject({ type: "returned", value: 7 });
    expect(heard.lines("stdout")).toEqual(["before"]);
  });
});

describe("a child process that dies", () => {
  test("in the first line of user code says by which signal, and that something ran", async () => {
    const link = newLink();
    const heard = new Listening(link);
    link.post({ type: "run", job: jobOf("it", { module: taskModule("process.abort();") }) });
    expect(await heard.gone()).toMatchObject({ exitCode: null, signal: "SIGABRT" });
    expect(heard.of("launched")).toHaveLength(1);
  });
});
