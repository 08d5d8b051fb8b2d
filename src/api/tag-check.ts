import { nearestNames } from "../core/nearest.ts";
import type { Logger } from "../core/ports/logger.ts";

/** More tags than this are not remembered, and no more are told of. */
const MAX_TAGS = 10_000;

/** What is known of the tags of tasks. */
export interface TagSource {
  /** Of every task that is registered, or that a node has used. */
  readonly tags: ReadonlySet<string>;
  /** There are pipelines that were never built, so that the tags of their nodes are not known. */
  readonly hasUnbuilt: boolean;
}

/**
 * Says to the logger when a limit or a hold is for a tag that no task here has: a slip of the pen is no error, since a submit
 * may bring a tag that nobody knows, but it limits and holds nothing. Each tag is told of once. One that is near to no other is
 * kept back while a pipeline may still bring it.
 */
export class TagCheck {
  readonly #source: TagSource;
  readonly #logger: Logger;
  /** Tags that submits have brought. */
  readonly #brought = new Set<string>();
  /** What each was asked for, while it is not known. */
  readonly #open = new Map<string, string>();
  readonly #told = new Set<string>();

  constructor(source: TagSource, logger: Logger) {
    this.#source = source;
    this.#logger = logger;
  }

  /** A submit gives its task these. */
  bring(tags: Iterable<string>): void {
    for (const tag of tags) if (this.#brought.size < MAX_TAGS) this.#brought.add(tag);
  }

  /**
   * These were named as tags of tasks.
   * @param what by which call
   */
  check(tags: Iterable<string>, what: string): void {
    for (const tag of tags) if (this.#open.size < MAX_TAGS) this.#open.set(tag, what);
    this.learn();
  }

  /** There may be more tags than before. */
  learn(): void {
    if (this.#open.size === 0) return;
    const { tags, hasUnbuilt } = this.#source;
    const known = new Set([...tags, ...this.#brought]);
    for (const [tag, what] of this.#open) {
      const nearest = nearestNames(tag, known);
      if (!known.has(tag) && nearest.length === 0 && hasUnbuilt) continue;
      this.#open.delete(tag);
      if (!known.has(tag)) this.#tell(tag, what, nearest);
    }
  }

  #tell(tag: string, what: string, nearest: readonly string[]): void {
    if (this.#told.has(tag) || this.#told.size >= MAX_TAGS || this.#brought.size >= MAX_TAGS) return;
    this.#told.add(tag);
    const hint = nearest.length === 0 ? "" : ` Did you mean ${nearest.map((name) => JSON.stringify(name)).join(" or ")}?`;
    this.#logger.warn(`${what}: no task known here has the tag ${JSON.stringify(tag)}.${hint} It takes effect as soon as a task has it.`, { tag, nearest });
  }
}
