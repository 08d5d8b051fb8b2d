/** One check of `npm test` besides the tests: what runs, with the tree's root as its folder. */
export interface Check {
  readonly name: string;
  /** A script of package.json: so each can be run by hand, and each is written once. */
  readonly script: string;
}

export const CHECKS: readonly Check[] = [
  { name: "types", script: "types" },
  { name: "lint", script: "lint" },
  { name: "format", script: "format:check" },
  { name: "gates", script: "gates" },
  { name: "unused code", script: "unused" },
];
