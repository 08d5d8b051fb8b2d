/** One layer of `src/`: the table is the gate's data, `docs/decisions/0003-layer-gates.md` says why. */
export interface Layer {
  /** The folder of `src/`, or the single file, that is this layer. */
  readonly path: string;
  /** The folders or files of `src/` that it may import besides itself. */
  readonly mayImport: readonly string[];
  /** May it import `node:` modules? */
  readonly host: boolean;
  /** The packages that it may import. */
  readonly packages: readonly string[];
}

/** Who may import whom: one way only. A file that belongs to no row is refused. */
export const LAYERS: readonly Layer[] = [
  { path: "core", mayImport: [], host: false, packages: [] },
  { path: "stores", mayImport: ["core"], host: true, packages: [] },
  { path: "observability", mayImport: ["core"], host: true, packages: [] },
  { path: "runtime", mayImport: ["core"], host: true, packages: [] },
  { path: "testing", mayImport: ["core"], host: true, packages: [] },
  { path: "api", mayImport: ["core", "runtime", "stores/memory", "stores/codec.ts"], host: true, packages: [] },
  {
    path: "cli",
    mayImport: ["core", "api", "stores", "observability"],
    host: true,
    packages: ["cli-truncate", "commander", "log-update", "string-width"],
  },
  { path: "server", mayImport: ["core", "api"], host: true, packages: [] },
  { path: "index.ts", mayImport: ["core", "api", "stores/memory"], host: false, packages: [] },
];
