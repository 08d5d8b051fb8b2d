import type { RunStatus } from "./status.ts";
import type { VerbAnswer } from "./verbs.ts";

/** What may be asked of a whole run. Source §3.3. */
export const RUN_VERBS = ["pause", "resume", "stop", "cancel", "retry"] as const;

/** A verb on a run. Source §3.3. */
export type RunVerb = (typeof RUN_VERBS)[number];

/** What a verb does to a run: it moves it, is met already, or is refused. */
export type RunVerbEffect = "moves" | "idempotent" | "refused";

const ended = { pause: "refused", resume: "refused", stop: "refused", cancel: "refused", retry: "moves" } as const;
const held = { pause: "idempotent", resume: "moves", stop: "moves", cancel: "moves", retry: "moves" } as const;

/** What each verb does in each status of a run. `retry` is refused beside this where nothing can be run again. Source §3.3. */
export const RUN_VERB_TABLE: Readonly<Record<RunStatus, Readonly<Record<RunVerb, RunVerbEffect>>>> = {
  pending: { pause: "refused", resume: "refused", stop: "moves", cancel: "moves", retry: "refused" },
  running: { pause: "moves", resume: "idempotent", stop: "moves", cancel: "moves", retry: "moves" },
  pausing: held,
  paused: held,
  stopping: { pause: "refused", resume: "refused", stop: "idempotent", cancel: "idempotent", retry: "refused" },
  succeeded: ended,
  failed: ended,
  stopped: { ...ended, stop: "idempotent" },
  cancelled: { ...ended, cancel: "idempotent" },
};

/** The verbs that would move the run now. */
export function allowedRunVerbs(status: RunStatus): readonly RunVerb[] {
  return RUN_VERBS.filter((verb) => RUN_VERB_TABLE[status][verb] === "moves");
}

/** May the verb be used on a run of that status? Without side effects. */
export function canRunVerb(status: RunStatus, verb: RunVerb): VerbAnswer {
  switch (RUN_VERB_TABLE[status][verb]) {
    case "moves":
      return { allowed: true, reason: null };
    case "idempotent":
      return { allowed: true, reason: `already ${status}` };
    case "refused":
      return { allowed: false, reason: `a run that is ${status} cannot be given "${verb}"` };
  }
}
