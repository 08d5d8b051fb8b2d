import type { ExecutorKind } from "../../../src/core/ports/executor.ts";

/** The four carriers. */
export const KINDS = ["inline", "async", "thread", "process"] as const satisfies readonly ExecutorKind[];

/** Those that can be ended for certain. */
export const KILLABLE = ["thread", "process"] as const satisfies readonly ExecutorKind[];

/** Many more points under CHONGMING_LONG=1. */
export const LONG = process.env["CHONGMING_LONG"] === "1";
