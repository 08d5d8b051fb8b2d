/** What a gate found: the file, from the root of the tree, and what is wrong with it. */
export interface Violation {
  readonly file: string;
  readonly message: string;
}
