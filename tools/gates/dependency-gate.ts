import { cruise } from "dependency-cruiser";
import type { ICruiseResult, IDependency, IModule } from "dependency-cruiser";
import { LAYERS } from "./layers.ts";
import type { Layer } from "./layers.ts";
import type { Violation } from "./violation.ts";

/** The modules of `src/` that a check of its imports has seen, and what is wrong among them. */
export interface DependencyReport {
  readonly modules: number;
  readonly violations: readonly Violation[];
}

/**
 * Layers and cycles of `<root>/src`, type imports included. `import("…")` in a type is not seen here: lint refuses it.
 */
export async function checkDependencies(root: string, layers: readonly Layer[] = LAYERS): Promise<DependencyReport> {
  const modules = (await readModules(root)).filter((module) => module.source.startsWith("src/"));
  // TypeScript 7 has no API for parsers: without `parser: "swc"` the tool finds nothing and says so quietly.
  if (modules.length === 0) return { modules: 0, violations: [{ file: "src", message: "the gate saw no module there" }] };
  return { modules: modules.length, violations: modules.flatMap((module) => [...checkLayer(module, layers), ...checkCycles(module)]) };
}

async function readModules(root: string): Promise<readonly IModule[]> {
  const result = await cruise(["src"], { baseDir: root, parser: "swc", tsPreCompilationDeps: true }, { extensions: [".ts", ".js", ".json"] });
  if (typeof result.output === "string") throw new Error("dependency-cruiser answered with text where a module graph was expected");
  return (result.output satisfies ICruiseResult).modules;
}

function checkLayer(module: IModule, layers: readonly Layer[]): readonly Violation[] {
  const layer = layers.find((candidate) => belongsTo(module.source, candidate.path));
  if (layer === undefined) return [{ file: module.source, message: "belongs to no layer: add a row to tools/gates/layers.ts" }];
  return module.dependencies.flatMap((dependency) => {
    const reason = refusal(dependency, layer);
    return reason === undefined ? [] : [{ file: module.source, message: `${layer.path} may not import ${dependency.module}: ${reason}` }];
  });
}

function refusal(dependency: IDependency, layer: Layer): string | undefined {
  if (dependency.dependencyTypes.includes("core")) return layer.host ? undefined : "it may import no module of the host";
  if (dependency.resolved.startsWith("src/")) {
    if (dependency.couldNotResolve) return "there is no such file";
    const allowed = [layer.path, ...layer.mayImport];
    return allowed.some((path) => belongsTo(dependency.resolved, path)) ? undefined : `it may import ${wordList(layer.mayImport)}`;
  }
  if (/^\.{0,2}\//.test(dependency.module)) return dependency.couldNotResolve ? "there is no such file" : "it lies outside src";
  return layer.packages.includes(packageOf(dependency.module)) ? undefined : `it may import ${wordList(layer.packages)} of packages`;
}

function checkCycles(module: IModule): readonly Violation[] {
  const circular = module.dependencies.filter((dependency) => dependency.circular);
  return circular.map((dependency) => {
    const path = (dependency.cycle ?? []).map((step) => step.name);
    return { file: module.source, message: `import cycle: ${[module.source, ...path].join(" → ")}` };
  });
}

function belongsTo(source: string, path: string): boolean {
  return source === `src/${path}` || source.startsWith(`src/${path}/`);
}

function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function wordList(words: readonly string[]): string {
  return words.length === 0 ? "nothing" : words.join(", ");
}
