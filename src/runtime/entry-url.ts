/**
 * The first file of another thread or process, beside the file that starts it: TypeScript when run from source,
 * JavaScript when built.
 * @param importer `import.meta.url` of the file that starts it
 */
export function entryUrl(importer: string, name: string): URL {
  return new URL(`./${name}.${importer.endsWith(".ts") ? "ts" : "js"}`, importer);
}
