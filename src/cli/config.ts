import { readFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkOptions, isList } from "../core/options.ts";
import type { Settings } from "./settings.ts";

/** The name of the file that says where a project's tasks are. */
export const CONFIG_FILE = "chongming.config.json";

/** The modules to load, as absolute paths, and where that was said. */
export interface ModuleList {
  readonly paths: readonly string[];
  readonly source: string;
}

/**
 * Which modules hold the tasks: `--tasks`, else `CHONGMING_TASKS`, else the config file, looked for upwards.
 * @throws ConfigurationError where nothing names a module, or the config file is wrong
 */
export async function findModules({ modules, host }: Settings): Promise<ModuleList> {
  if (modules.length > 0) return listed(modules, host.cwd, "--tasks");
  const fromEnv = (host.env["CHONGMING_TASKS"] ?? "").split(delimiter).filter((path) => path !== "");
  if (fromEnv.length > 0) return listed(fromEnv, host.cwd, "CHONGMING_TASKS");
  const config = await findConfig(host.cwd);
  if (config !== undefined) return listed(readTasks(config), dirname(config.path), config.path);
  throw new ConfigurationError(
    `no module is named that holds tasks. Give --tasks MODULE, set CHONGMING_TASKS, or write ${CONFIG_FILE} with { "tasks": ["./tasks.ts"] }.`,
  );
}

function listed(modules: readonly string[], base: string, source: string): ModuleList {
  const empty = modules.find((path) => path.trim() === "");
  if (empty !== undefined) throw new ConfigurationError(`${source}: a module needs a path; found ${describeValue(empty)}.`);
  return { paths: [...new Set(modules.map((path) => resolve(base, path)))], source };
}

interface ConfigText {
  readonly path: string;
  readonly text: string;
}

async function findConfig(from: string): Promise<ConfigText | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, CONFIG_FILE);
    const text = await readIfThere(path);
    if (text !== undefined) return { path, text };
    if (dirname(folder) === folder) return undefined;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
    throw new ConfigurationError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`, { cause: error });
  }
}

function readTasks({ path, text }: ConfigText): readonly string[] {
  const { tasks } = checkOptions(parse(path, text), ["tasks"], path);
  if (isList(tasks) && tasks.length > 0 && tasks.every((item) => typeof item === "string")) return tasks;
  throw new ConfigurationError(`${path}: "tasks" must be a list of paths such as ["./tasks.ts"]; found ${describeValue(tasks)}.`);
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new ConfigurationError(`${path} is no JSON: ${error instanceof Error ? error.message : String(error)}.`, { cause: error });
  }
}
