import { vi } from "vitest";
import type { CarrierLink } from "../../../../src/runtime/executors/carrier-link.ts";
import type { CarrierExit, FromCarrier, Job } from "../../../../src/runtime/executors/protocol.ts";

/** What a real carrier has said, and how it has gone. */
export class Listening {
  readonly said: FromCarrier[] = [];
  exit: CarrierExit | null = null;

  constructor(link: CarrierLink) {
    link.listener = {
      message: (message) => void this.said.push(message),
      exited: (exit) => {
        if (this.exit !== null) throw new Error("it has gone twice");
        this.exit = exit;
      },
    };
  }

  of<Type extends FromCarrier["type"]>(type: Type): readonly Extract<FromCarrier, { readonly type: Type }>[] {
    return this.said.filter((message): message is Extract<FromCarrier, { readonly type: Type }> => message.type === type);
  }

  /** The lines of a stream. */
  lines(stream: "stdout" | "stderr"): readonly string[] {
    return this.of("output").flatMap((output) => (output.stream === stream ? [output.text] : []));
  }

  async until(isSo: () => boolean, what: string): Promise<void> {
    const check = (): void => {
      if (!isSo()) throw new Error(`it did not happen: ${what}. Said: ${this.said.map(({ type }) => type).join(", ")}`);
    };
    await vi.waitFor(check, { timeout: 15_000, interval: 5 });
  }

  /** The end of the task: what was said before it is in `said`. */
  async end(): Promise<FromCarrier | undefined> {
    await this.until(() => this.of("returned").length + this.of("threw").length > 0, "the task ended");
    return this.said.at(-1);
  }

  async gone(): Promise<CarrierExit | null> {
    await this.until(() => this.exit !== null, "the carrier went");
    return this.exit;
  }
}

/** A job for a real carrier; its module is written as the URL's own text. */
export function jobOf(name: string, changes: Partial<Job> = {}): Job {
  const module = new URL("../../../contract/fixtures/executor-tasks.ts", import.meta.url).href;
  return {
    taskId: "t1",
    pipelineRunId: null,
    name,
    attempt: 1,
    fencingToken: 1,
    module,
    args: [],
    deadlineAt: null,
    asksToBegin: false,
    activeGapMs: null,
    saved: undefined,
    artifacts: "/nowhere",
    ...changes,
  };
}

/** A module that exports one task, "it", whose body is this code. */
export function taskModule(body: string): string {
  return `data:text/javascript,${encodeURIComponent(`export const it = { name: "it", options: {}, run: async (ctx, ...args) => { ${body} } };`)}`;
}
