import { DEFAULT_KIND } from "../../api/carrier-options.ts";
import type { AnyTask } from "../../api/task.ts";
import { resolveTask } from "../../api/task.ts";
import { formatDuration } from "../../core/duration.ts";
import { loadCatalogue } from "../catalogue.ts";
import type { Catalogue } from "../catalogue.ts";
import { cleanLine } from "../output/clean-text.ts";
import { toJson } from "../output/json-text.ts";
import { createPaint } from "../output/paint.ts";
import { formatTable } from "../output/table.ts";
import type { Settings } from "../settings.ts";

/** Lists what the modules register. */
export async function tasks(settings: Settings): Promise<number> {
  const catalogue = await loadCatalogue(settings);
  for (const line of listLines(settings, catalogue)) settings.host.stdout.write(`${line}\n`);
  return 0;
}

interface TaskFacts {
  readonly name: string;
  readonly executor: string;
  readonly maxAttempts: number;
  readonly timeout: Readonly<Record<"startMs" | "attemptMs" | "idleMs", number | null>>;
  readonly tags: readonly string[];
}

function listLines(settings: Settings, { tasks: registered, pipelines }: Catalogue): readonly string[] {
  const facts = registered.map(factsOf);
  const names = pipelines.map(({ name }) => ({ name }));
  switch (settings.format) {
    case "json":
      return [toJson({ tasks: facts, pipelines: names })];
    case "jsonl":
      return [...facts.map((each) => toJson({ type: "Task", ...each })), ...names.map((each) => toJson({ type: "Pipeline", ...each }))];
    case "ids":
      return [...facts, ...names].map(({ name }) => cleanLine(name));
    case "table":
    case "wide":
      return tableLines(settings, facts, names);
  }
}

function factsOf(task: AnyTask): TaskFacts {
  const { name, retry, timeout, tags } = resolveTask(task, {});
  return { name, executor: task.options.executor ?? DEFAULT_KIND, maxAttempts: retry.maxAttempts, timeout, tags };
}

function tableLines({ host, format, colours }: Settings, facts: readonly TaskFacts[], pipelines: readonly { readonly name: string }[]): readonly string[] {
  const { stdout } = host;
  const width = format === "wide" || stdout.isTTY !== true ? undefined : (stdout.columns ?? 80);
  const paint = createPaint(colours(stdout));
  const rows = facts.map(({ name, executor, maxAttempts, timeout, tags }) => [
    cleanLine(name),
    executor,
    String(maxAttempts),
    timeouts(timeout),
    tags.map((tag) => cleanLine(tag, 100)).join(" "),
  ]);
  const table = rows.length === 0 ? [] : formatTable(["TASK", "EXECUTOR", "ATTEMPTS", "TIMEOUTS", "TAGS"], rows, width);
  const list =
    pipelines.length === 0
      ? []
      : formatTable(
          ["PIPELINE"],
          pipelines.map(({ name }) => [cleanLine(name)]),
          width,
        );
  const [taskHeading, ...taskRows] = table;
  const [pipelineHeading, ...pipelineRows] = list;
  return [
    ...(taskHeading === undefined ? [] : [paint("bold", taskHeading), ...taskRows]),
    ...(taskHeading === undefined || pipelineHeading === undefined ? [] : [""]),
    ...(pipelineHeading === undefined ? [] : [paint("bold", pipelineHeading), ...pipelineRows]),
  ];
}

function timeouts({ startMs, attemptMs, idleMs }: TaskFacts["timeout"]): string {
  const parts = [
    ["start", startMs],
    ["attempt", attemptMs],
    ["idle", idleMs],
  ] as const;
  return parts.flatMap(([word, ms]) => (ms === null ? [] : [`${word} ${formatDuration(ms)}`])).join(", ") || "none";
}
