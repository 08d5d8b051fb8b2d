import "../../carriers/support/compile-cache.ts";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { eventually, within } from "../../carriers/support/eventually.ts";

/** How a host ended. */
export interface HostEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

/** A program of `hosts/` in a process of its own; what it says comes as lines of JSON. */
export class Host implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly said: Readonly<Record<string, unknown>>[] = [];
  /** When its last line came, on the monotonic clock. */
  lastSaidAt = 0;
  readonly ended: Promise<HostEnd>;
  #stderr = "";

  constructor(name: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const file = fileURLToPath(new URL(`../hosts/${name}`, import.meta.url));
    this.child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
    const { stdout, stderr } = this.child;
    if (stdout === null || stderr === null) throw new Error("a host without pipes");
    createInterface({ input: stdout }).on("line", (line) => {
      this.lastSaidAt = performance.now();
      this.said.push(JSON.parse(line) as Record<string, unknown>);
    });
    stderr.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    const { promise, resolve } = Promise.withResolvers<HostEnd>();
    this.ended = promise;
    this.child.once("close", (exitCode, signal) => resolve({ exitCode, signal, stderr: this.#stderr }));
  }

  /** The value it said under that name. */
  async says(name: string, ms = 20_000): Promise<unknown> {
    return await eventually(
      `the host says "${name}" (it said ${JSON.stringify(this.said).slice(0, 500)}; ${this.#stderr.slice(0, 500)})`,
      () => this.said.find((line) => name in line)?.[name],
      ms,
    );
  }

  async end(ms = 30_000): Promise<HostEnd> {
    return await within(ms, "the host ends by itself", this.ended);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL");
    await this.ended;
  }
}
