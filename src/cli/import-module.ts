import { stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { loadForTasks } from "../api/task-loading.ts";
import { formatDuration } from "../core/duration.ts";
import { ConfigurationError } from "../core/errors.ts";
import { failureOf } from "../core/thrown.ts";

/** What a module exports, by name. */
export type Namespace = Readonly<Record<string, unknown>>;

/**
 * Loads a module of tasks.
 * @param limitMs how long its top level may take
 * @throws ConfigurationError that names the file and, as its cause, what went wrong
 */
export async function importModule(path: string, limitMs: number): Promise<Namespace> {
  await checkFile(path);
  const timeout = Promise.withResolvers<never>();
  // It also keeps the process alive: without it a top level that waits for ever would end it without a word.
  const timer = setTimeout(() => timeout.reject(tooSlow(path, limitMs)), limitMs);
  try {
    return await Promise.race([load(path), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw new ConfigurationError(`module ${path} cannot be read: ${failureOf(error).message}. Is the path right?`, { cause: error });
  });
  if (!found.isFile()) throw new ConfigurationError(`module ${path} is no file. Name the file that exports the tasks.`);
}

function tooSlow(path: string, limitMs: number): ConfigurationError {
  return new ConfigurationError(
    `module ${path} did not finish loading within ${formatDuration(limitMs)}: an await at its top level does not settle. Move that work into a task.`,
  );
}

async function load(path: string): Promise<Namespace> {
  try {
    return await loadForTasks(async () => await importNamespace(pathToFileURL(path).href));
  } catch (error) {
    if (!needsMoreThanStripping(error)) throw failedToLoad(path, error);
    return await loadWithJiti(path, error);
  }
}

async function importNamespace(specifier: string): Promise<Namespace> {
  return (await import(specifier)) as Namespace;
}

const STRIPPING_CODES: readonly unknown[] = ["ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX", "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING", "ERR_UNKNOWN_FILE_EXTENSION"];

/** Enums, namespaces, parameter properties, JSX: Node only takes types out. */
function needsMoreThanStripping(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && STRIPPING_CODES.includes(error.code);
}

/** `jiti` is not ours: the one that the user's project has. */
async function loadWithJiti(path: string, reason: unknown): Promise<Namespace> {
  const jiti = findJiti(path);
  if (jiti === undefined) {
    const message = `module ${path} needs more than Node's type stripping (${failureOf(reason).message}). Write it without, or install jiti beside it: npm install jiti.`;
    throw new ConfigurationError(message, { cause: reason });
  }
  try {
    const { createJiti } = await importNamespace(pathToFileURL(jiti).href);
    if (typeof createJiti !== "function") throw new ConfigurationError(`${jiti} is no jiti that is known here: version 2 is needed.`);
    const loader = Reflect.apply(createJiti, undefined, [pathToFileURL(path).href]) as { readonly import: (path: string) => Promise<Namespace> };
    return await loadForTasks(async () => await loader.import(path));
  } catch (error) {
    throw failedToLoad(path, error);
  }
}

function findJiti(path: string): string | undefined {
  try {
    return createRequire(path).resolve("jiti");
  } catch {
    return undefined;
  }
}

function failedToLoad(path: string, error: unknown): ConfigurationError {
  const { name, message, stack } = failureOf(error);
  // Node keeps the place of a syntax error in JavaScript to itself.
  const hint = name === "SyntaxError" && stack?.startsWith("SyntaxError") === true ? ` (run node ${path} to see where)` : "";
  return new ConfigurationError(`module ${path} failed to load: ${name}: ${message}${hint}`, { cause: error });
}
