/** The first file of a carrier, beside this one: TypeScript when run from source, JavaScript when built. */
export function entryUrl(name: "thread-entry" | "process-entry" | "process-line-entry" | "loop-watch-entry"): URL {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return new URL(`./${name}.${extension}`, import.meta.url);
}
