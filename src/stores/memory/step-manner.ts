import type { TaskStatusChanged } from "../../core/events.ts";

/** How a step was taken. Thousands of tasks take the same few, so that each is kept once. */
export interface StepManner extends Pick<TaskStatusChanged, "kind" | "from" | "to" | "trigger" | "actor" | "reason" | "commandId"> {
  readonly type: "step";
}

/** Triggers are few, but nothing keeps a caller from giving others. */
const MAX_KEPT = 256;

/** The manners in which steps were taken of late. */
export class StepManners {
  /** The last of each trigger: reasons and command ids that differ each time would fill a table of all. */
  readonly #byTrigger = new Map<string, StepManner>();

  /** The manner of that step: the same object as last time where nothing differs. */
  of(step: TaskStatusChanged): StepManner {
    const last = this.#byTrigger.get(step.trigger);
    if (last !== undefined && isTakenLike(step, last)) return last;
    const { kind, from, to, trigger, actor, reason, commandId } = step;
    const manner: StepManner = { type: "step", kind, from, to, trigger, actor, reason, commandId };
    if (this.#byTrigger.size >= MAX_KEPT) this.#byTrigger.clear();
    this.#byTrigger.set(trigger, manner);
    return manner;
  }
}

function isTakenLike(step: TaskStatusChanged, manner: StepManner): boolean {
  return (
    step.from === manner.from &&
    step.to === manner.to &&
    step.actor === manner.actor &&
    step.reason === manner.reason &&
    step.commandId === manner.commandId &&
    step.kind === manner.kind
  );
}
