import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, UnknownId } from "../core/errors.ts";
import { checkOptions } from "../core/options.ts";
import type { FeedEntry } from "../core/ports/store.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { Engine } from "../runtime/engine.ts";
import { UNSTORED } from "../runtime/event-feed.ts";
import { streamFeed } from "../runtime/feed-stream.ts";
import type { FeedStreamOptions } from "../runtime/feed-stream.ts";
import { watchTask, watchTasks } from "../runtime/task-watch.ts";
import { readEventOptions, readSignal } from "./options.ts";
import { readQuery } from "./query.ts";

/** `controller.watch`: its options are read when it is called, the rest when it is first asked for a snapshot. */
export function watch(engine: Engine, of: unknown, options: unknown): AsyncGenerator<TaskSnapshot, void, undefined> {
  const signal = readSignal(checkOptions(options, ["signal"], "watch").signal, "watch: signal");
  const get = async (taskId: string): Promise<TaskSnapshot> => await engine.get(taskId);
  if (typeof of === "string") return watchTask({ bus: engine.bus, get }, of, signal);
  if (of === undefined) throw new ConfigurationError('watch takes a task\'s id, or a selector such as { status: ["running"] }; {} is all tasks.');
  const query = readQuery(of);
  if (query.limit !== undefined || query.cursor !== undefined)
    throw new ConfigurationError("watch gives every task that fits: it takes no limit and no cursor.");
  return watchTasks(engine, query, signal);
}

/** `controller.stream`: without `from` it begins where the record ends when it is called. */
export function stream(engine: Engine, options: unknown): AsyncGenerator<FeedEntry, void, undefined> {
  const { from, taskId, pipelineRunId, ...rest } = checkOptions(options, ["from", "taskId", "pipelineRunId", "types", "signal"], "stream");
  const { types, signal } = readEventOptions(rest, "stream");
  const unstored = types?.find((type) => UNSTORED.has(type));
  if (unstored !== undefined) throw new ConfigurationError(`stream: types: ${unstored} is not stored; events() gives it as it happens.`);
  if (from !== undefined && from !== null && typeof from !== "string")
    throw new ConfigurationError(`stream: from must be a cursor that the feed gave, or null for its start; found ${describeValue(from)}.`);
  const start = from === undefined ? engine.store.audit.head() : Promise.resolve(from);
  // Whoever asks for the first entry hears of it.
  start.catch(() => undefined);
  return streamFrom(engine, start, { of: { ...idOf("taskId", taskId), ...idOf("pipelineRunId", pipelineRunId) }, types, signal });
}

async function* streamFrom(
  engine: Engine,
  start: Promise<string | null>,
  { of, types, signal }: Omit<FeedStreamOptions, "from">,
): AsyncGenerator<FeedEntry, void, undefined> {
  const { audit, runs } = engine.store;
  if (of.taskId !== undefined) await engine.get(of.taskId);
  if (of.pipelineRunId !== undefined && (await runs.get(of.pipelineRunId)) === undefined)
    throw new UnknownId(`no run ${JSON.stringify(of.pipelineRunId)}: the id is wrong, or its history was pruned.`);
  yield* streamFeed({ bus: engine.bus, feed: async (cursor, page) => await audit.feed(cursor, page) }, { from: await start, of, types, signal });
}

function idOf(key: "taskId" | "pipelineRunId", value: unknown): FeedStreamOptions["of"] {
  if (value === undefined) return {};
  if (typeof value === "string") return { [key]: value };
  throw new ConfigurationError(`stream: ${key} must be text; found ${describeValue(value)}.`);
}
