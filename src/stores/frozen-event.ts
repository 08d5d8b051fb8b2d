import type { StoredEvent } from "../core/events.ts";
import { unreachable } from "../core/unreachable.ts";
import { frozenAttempt } from "./frozen-attempt.ts";
import { frozenFailure } from "./frozen-failure.ts";

/** A frozen copy, to the bottom. */
export function frozenEvent(event: StoredEvent): StoredEvent {
  switch (event.type) {
    case "AttemptStarted":
      return Object.freeze({ ...event, attempt: frozenAttempt(event.attempt) });
    case "AttemptFailed":
      return Object.freeze({ ...event, attempt: frozenAttempt(event.attempt), failure: frozenFailure(event.failure) });
    case "TaskWarning":
      return Object.freeze({ ...event, failure: frozenFailure(event.failure) });
    case "TaskCreated":
    case "TaskStatusChanged":
    case "AdminOverride":
    case "PipelineRunStatusChanged":
      return Object.freeze({ ...event });
    default:
      return unreachable(event);
  }
}
