import type { AgedKey, Blocker } from "../core/admission.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import { rankAs } from "./task-lanes.ts";
import type { LaneTask, Ranked, TaskLanes } from "./task-lanes.ts";

/** Tasks under the same limits and holds: when one is blocked all are, so a look at the first is enough. */
export interface AdmissionClass<Task extends LaneTask<Task>> extends Ranked {
  readonly key: string;
  /** The ids of what has been held and all its tasks are under; whether it is held now is another matter. */
  readonly holds: readonly string[];
  readonly tasks: TaskLanes<Task>;
  /** Written by the lines alone; `null`: in none. */
  line: Line<Task> | null;
}

/** What a class can wait for: a limit that is used up, or the end of a hold. */
export type LineBlocker = Exclude<Blocker, { readonly kind: "global" }> | { readonly kind: "hold"; readonly id: string };

/** Classes that wait for one thing. An open line may have a task that can start, a closed one has none. */
interface Line<Task extends LaneTask<Task>> extends Ranked {
  readonly classes: IndexedHeap<AdmissionClass<Task>>;
  /** Where it is found; `null`: it is the line of those that wait for nothing that is known. */
  readonly home: { delete(key: string | number): boolean } | null;
  readonly key: string | number;
}

/**
 * Where classes wait: in the line of what is in their way, which stays closed until that changes. Everything is
 * O(log n). Invariant: a class that could start stands in an open line; no line but the first is empty.
 */
export class WaitingLines<Task extends LaneTask<Task>> {
  readonly #compare: (a: AgedKey, b: AgedKey) => number;
  readonly #unparked: Line<Task>;
  readonly #open: IndexedHeap<Line<Task>>;
  readonly #byTag = new Map<string | number, Line<Task>>();
  readonly #byBucket = new Map<string | number, Line<Task>>();
  readonly #byHold = new Map<string | number, Line<Task>>();

  constructor(compare: (a: AgedKey, b: AgedKey) => number) {
    this.#compare = compare;
    this.#open = new IndexedHeap<Line<Task>>(compare);
    this.#unparked = this.#newLine(null, "");
  }

  /** Of the classes that may have a task that can start, the one whose first task comes first. */
  get first(): AdmissionClass<Task> | undefined {
    return this.#open.size === 0 ? undefined : this.#open.first.classes.first;
  }

  /** A class that has a task waits for nothing that is known. */
  enter(admissionClass: AdmissionClass<Task>): void {
    rankAs(admissionClass, admissionClass.tasks.first);
    this.#join(admissionClass, this.#unparked);
    this.#reopen(this.#unparked);
  }

  /** The class waits for this, and nothing that waits for it is looked at until it is opened. */
  park(admissionClass: AdmissionClass<Task>, blocker: LineBlocker): void {
    const line = this.#lineOf(blocker);
    if (admissionClass.line !== line) {
      this.leave(admissionClass);
      this.#join(admissionClass, line);
    }
    if (line.heapIndex !== -1) this.#open.remove(line);
  }

  /** The class has no task any more. */
  leave(admissionClass: AdmissionClass<Task>): void {
    const { line } = admissionClass;
    if (line === null) return;
    admissionClass.line = null;
    line.classes.remove(admissionClass);
    if (line.classes.size > 0) this.#lineChanged(line);
    else this.#drop(line);
  }

  /** Another task is the first of the class. */
  firstChanged(admissionClass: AdmissionClass<Task>): void {
    const { line } = admissionClass;
    if (line === null) return;
    rankAs(admissionClass, admissionClass.tasks.first);
    line.classes.reposition(admissionClass);
    this.#lineChanged(line);
  }

  openTag(tag: string): void {
    if (this.#byTag.size > 0) this.#reopen(this.#byTag.get(tag));
  }

  openBucket(bucket: number): void {
    if (this.#byBucket.size > 0) this.#reopen(this.#byBucket.get(bucket));
  }

  openHold(id: string): void {
    this.#reopen(this.#byHold.get(id));
  }

  /** Limits have changed: all are looked at again, each at most once. */
  openLimits(): void {
    for (const lines of [this.#byTag, this.#byBucket]) for (const line of lines.values()) this.#reopen(line);
  }

  #lineOf(blocker: LineBlocker): Line<Task> {
    switch (blocker.kind) {
      case "tag":
        return this.#lineIn(this.#byTag, blocker.tag);
      case "bucket":
        return this.#lineIn(this.#byBucket, blocker.bucket);
      case "hold":
        return this.#lineIn(this.#byHold, blocker.id);
    }
  }

  #lineIn(home: Map<string | number, Line<Task>>, key: string | number): Line<Task> {
    const found = home.get(key);
    if (found !== undefined) return found;
    const line = this.#newLine(home, key);
    home.set(key, line);
    return line;
  }

  #join(admissionClass: AdmissionClass<Task>, line: Line<Task>): void {
    admissionClass.line = line;
    line.classes.push(admissionClass);
    this.#lineChanged(line);
  }

  #lineChanged(line: Line<Task>): void {
    rankAs(line, line.classes.first);
    if (line.heapIndex !== -1) this.#open.reposition(line);
  }

  #drop(line: Line<Task>): void {
    if (line.heapIndex !== -1) this.#open.remove(line);
    line.home?.delete(line.key);
  }

  #reopen(line: Line<Task> | undefined): void {
    if (line !== undefined && line.heapIndex === -1) this.#open.push(line);
  }

  #newLine(home: Line<Task>["home"], key: string | number): Line<Task> {
    const classes = new IndexedHeap<AdmissionClass<Task>>(this.#compare);
    return { heapIndex: -1, priority: 0, sequence: 0, queuedAt: 0, classes, home, key };
  }
}
