import type { AttemptRecord } from "../../core/attempt.ts";
import { frozenAttempt } from "../frozen-attempt.ts";

/** The attempts of a task, by epoch and number, with these put in or in place of what was there: a new list. */
export function withAttempts(attempts: readonly AttemptRecord[], changed: readonly AttemptRecord[]): readonly AttemptRecord[] {
  let list = attempts;
  for (const record of changed) list = withAttempt(list, frozenAttempt(record));
  return list;
}

function withAttempt(list: readonly AttemptRecord[], record: AttemptRecord): readonly AttemptRecord[] {
  let count = list.length; // from the end: what is changed is nearly always the last
  for (; count > 0; count -= 1) {
    const before = list[count - 1];
    const order = before === undefined ? -1 : compare(before, record);
    if (order === 0) return list.length === 1 ? [record] : list.with(count - 1, record);
    if (order < 0) break;
  }
  return list.length === 0 ? [record] : list.toSpliced(count, 0, record);
}

function compare(left: AttemptRecord, right: AttemptRecord): number {
  return left.epoch - right.epoch || left.attempt - right.attempt;
}
