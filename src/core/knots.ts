/** One condition of something that wants to go on: at least `least` of `of` must be able to go on. */
export interface Need<Node> {
  readonly of: Iterable<Node>;
  readonly least: number;
  /** How it is told: `what` stands between the name of the one that waits and the name of what it waits for. */
  readonly what: string;
}

/** What something waits for: every condition must be met. None: it goes on by itself. */
export type NeedsOf<Node> = (node: Node) => readonly Need<Node>[];

/** One that can never go on, and what it is said to wait for. */
export interface Link<Node> {
  readonly node: Node;
  readonly what: string;
}

/**
 * Those that can never go on, among those that `root` waits for, directly or through others, `root` included; empty
 * when `root` can. A ring of waits proves nothing by itself: who can go on is who is shown to by others that can,
 * beginning with those that wait for nobody. Looks no further than it must; linear in what it looks at.
 */
export function stuckFrom<Node>(root: Node, needsOf: NeedsOf<Node>): ReadonlySet<Node> {
  const search = new Search(needsOf);
  search.visit(root);
  while (search.looksOn(root));
  return search.stuck(root);
}

/** The shortest way from one stuck node back to itself along what each waits for; `null`: it is on no ring. */
export function ringThrough<Node>(start: Node, stuck: ReadonlySet<Node>, needsOf: NeedsOf<Node>): readonly Link<Node>[] | null {
  const cameFrom = new Map<Node, Link<Node>>();
  const reached = new Set<Node>([start]);
  // A set that grows while it is walked is its own queue.
  for (const node of reached) {
    for (const { of, what } of needsOf(node)) {
      for (const next of of) {
        if (!stuck.has(next) || cameFrom.has(next)) continue;
        cameFrom.set(next, { node, what });
        if (next === start) return backwards(start, cameFrom);
        reached.add(next);
      }
    }
  }
  return null;
}

function backwards<Node>(start: Node, cameFrom: ReadonlyMap<Node, Link<Node>>): readonly Link<Node>[] {
  const ring: Link<Node>[] = [];
  for (let link = cameFrom.get(start); link !== undefined; link = cameFrom.get(link.node)) {
    ring.unshift(link);
    if (link.node === start) break;
  }
  return ring;
}

interface Frame<Node> {
  readonly node: Node;
  readonly rest: Iterator<Node>;
}

/** Depth first, without recursion: chains of waits may be long. */
class Search<Node> {
  readonly #needsOf: NeedsOf<Node>;
  readonly #seen = new Map<Node, readonly Need<Node>[]>();
  readonly #live = new Set<Node>();
  /** Who was seen to wait for it. */
  readonly #waiting = new Map<Node, Node[]>();
  readonly #stack: Frame<Node>[] = [];

  constructor(needsOf: NeedsOf<Node>) {
    this.#needsOf = needsOf;
  }

  visit(node: Node): void {
    const needs = this.#needsOf(node);
    this.#seen.set(node, needs);
    if (needs.length === 0) this.#prove(node);
    else this.#stack.push({ node, rest: everyNode(needs) });
  }

  /** One step; false when nothing is left to look at. */
  looksOn(root: Node): boolean {
    const frame = this.#stack.at(-1);
    if (frame === undefined || this.#live.has(root)) return false;
    const next = this.#live.has(frame.node) ? null : frame.rest.next();
    if (next === null || next.done === true) {
      this.#stack.pop();
      return true;
    }
    const child = next.value;
    const waiting = this.#waiting.get(child);
    if (waiting === undefined) this.#waiting.set(child, [frame.node]);
    else waiting.push(frame.node);
    if (!this.#seen.has(child)) this.visit(child);
    else if (this.#live.has(child) && this.#isMet(frame.node)) this.#prove(frame.node);
    return true;
  }

  stuck(root: Node): ReadonlySet<Node> {
    if (this.#live.has(root)) return new Set();
    return new Set(this.#seen.keys().filter((node) => !this.#live.has(node)));
  }

  #prove(node: Node): void {
    const proven = new Set([node]);
    for (const each of proven) {
      this.#live.add(each);
      for (const other of this.#waiting.get(each) ?? []) if (!this.#live.has(other) && this.#isMet(other)) proven.add(other);
    }
  }

  #isMet(node: Node): boolean {
    return (this.#seen.get(node) ?? []).every(({ of, least }) => this.#hasLive(of, least));
  }

  #hasLive(nodes: Iterable<Node>, least: number): boolean {
    let missing = least;
    for (const node of nodes) {
      if (this.#live.has(node)) missing -= 1;
      if (missing <= 0) return true;
    }
    return missing <= 0;
  }
}

function* everyNode<Node>(needs: readonly Need<Node>[]): Generator<Node, void, undefined> {
  for (const { of } of needs) yield* of;
}
