import { admissionKey, compareAged, compareQueued } from "../core/admission.ts";
import type { AdmissionLimits, AgedKey, Blocker, SlotClaim } from "../core/admission.ts";
import { InternalError } from "../core/errors.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import { rankAs, TaskLanes } from "./task-lanes.ts";
import type { LaneTask, Ranked } from "./task-lanes.ts";

/** A task as the queue holds it. */
export interface QueuedTask<Self> extends LaneTask<Self>, SlotClaim {
  /** The order of arrival; written by the queue. */
  sequence: number;
}

/** Tasks under the same limits: when one is blocked all are, so a look at the first is enough. */
interface AdmissionClass<Task extends QueuedTask<Task>> extends Ranked {
  readonly key: string;
  readonly tasks: TaskLanes<Task>;
  line: Line<Task>;
}

/** Classes that wait for one thing. An open line may have a task that can start, a closed one has none. */
interface Line<Task extends QueuedTask<Task>> extends Ranked {
  /** The limit they wait for; `null`: none that is known to be in the way. */
  readonly blocker: LineBlocker | null;
  readonly classes: IndexedHeap<AdmissionClass<Task>>;
}

type LineBlocker = Exclude<Blocker, { readonly kind: "global" }>;

/** What decides the order, and who waits with whom. */
export interface QueueRules extends Pick<AdmissionLimits, "limits" | "perBucket"> {
  /** Waiting this long is worth one step of priority; `null`: no aging. */
  readonly agingMs: number | null;
}

/**
 * The tasks that are ready, in exact order: the higher priority first, then the one that came first (with
 * aging, `compareAged`). A task whose tag or bucket is used up holds up nobody else: its class is parked in
 * the line of that limit, and the line stays closed until a slot of it is given back. Each class that is
 * looked at costs O(log n), and only those are looked at that would be next. Source §5.3.
 */
export class ReadyQueue<Task extends QueuedTask<Task>> {
  #rules: QueueRules;
  #compare: (a: AgedKey, b: AgedKey) => number = compareQueued;
  #unparked: Line<Task>;
  /** Invariant: a class that could start stands in a line that is in here; no line anywhere is empty but `#unparked`. */
  #open: IndexedHeap<Line<Task>>;
  readonly #classes = new Map<string, AdmissionClass<Task>>();
  readonly #tagLines = new Map<string, Line<Task>>();
  readonly #bucketLines = new Map<number, Line<Task>>();
  #size = 0;
  #sequence = 0;

  constructor(rules: QueueRules) {
    this.#rules = rules;
    this.#unparked = this.#newLine(null);
    this.#open = new IndexedHeap<Line<Task>>(this.#compare);
    this.setRules(rules);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends a task: it is the last that came. */
  add(task: Task): void {
    this.#sequence += 1;
    task.sequence = this.#sequence;
    this.#insert(task);
  }

  /**
   * Takes a task out, wherever it stands.
   * @throws InternalError when it is not in the queue
   */
  remove(task: Task): void {
    const admissionClass = this.#classes.get(this.#keyOf(task));
    if (admissionClass === undefined) throw new InternalError("the task is not in the ready queue.");
    this.#takeOut(task, admissionClass);
  }

  /**
   * Takes out the first task that can start; `undefined`: none can.
   * @param acquire takes the task's slots, all or none, and answers what is in the way
   */
  take(acquire: (task: Task) => Blocker | null): Task | undefined {
    while (this.#open.size > 0) {
      const admissionClass = this.#open.first.classes.first;
      const task = admissionClass.tasks.first;
      const blocker = acquire(task);
      if (blocker === null) {
        this.#takeOut(task, admissionClass);
        return task;
      }
      if (blocker.kind === "global") return undefined;
      this.#park(admissionClass, blocker);
    }
    return undefined;
  }

  /** Slots of these tags and this bucket were given back: whoever waits for them is looked at again. */
  released({ bucket, tags }: SlotClaim): void {
    if (bucket !== null) this.#reopen(this.#bucketLines.get(bucket));
    if (this.#tagLines.size === 0) return;
    for (const tag of tags) this.#reopen(this.#tagLines.get(tag));
  }

  /** Other limits or another aging: everything is sorted anew and looked at again. O(n log n). */
  setRules(rules: QueueRules): void {
    const tasks = [...this.#classes.values()].flatMap((admissionClass) => admissionClass.tasks.drain());
    const { agingMs } = rules;
    this.#rules = rules;
    this.#compare = agingMs === null ? compareQueued : (a, b) => compareAged(a, b, agingMs);
    this.#unparked = this.#newLine(null);
    this.#open = new IndexedHeap<Line<Task>>(this.#compare);
    for (const map of [this.#classes, this.#tagLines, this.#bucketLines]) map.clear();
    this.#size = 0;
    for (const task of tasks.sort(this.#compare)) this.#insert(task);
  }

  #insert(task: Task): void {
    const admissionClass = this.#classOf(task);
    admissionClass.tasks.add(task);
    this.#size += 1;
    if (admissionClass.heapIndex === -1) {
      rankAs(admissionClass, task);
      this.#join(admissionClass, this.#unparked);
    } else if (task === admissionClass.tasks.first) this.#firstChanged(admissionClass);
    if (admissionClass.line === this.#unparked) this.#reopen(this.#unparked);
  }

  #takeOut(task: Task, admissionClass: AdmissionClass<Task>): void {
    const wasFirst = task === admissionClass.tasks.first;
    admissionClass.tasks.remove(task);
    this.#size -= 1;
    if (admissionClass.tasks.isEmpty) this.#dissolve(admissionClass);
    else if (wasFirst) this.#firstChanged(admissionClass);
  }

  #classOf(task: Task): AdmissionClass<Task> {
    const key = this.#keyOf(task);
    const found = this.#classes.get(key);
    if (found !== undefined) return found;
    const admissionClass = { ...UNRANKED, key, tasks: new TaskLanes<Task>(this.#compare), line: this.#unparked };
    this.#classes.set(key, admissionClass);
    return admissionClass;
  }

  /** What limits nothing (the name, a tag without a limit) is left out: the fewer classes the better. */
  #keyOf(task: Task): string {
    const { limits, perBucket } = this.#rules;
    const bucket = perBucket === null ? null : task.bucket;
    const tags = limits.size === 0 ? NO_TAGS : task.tags.filter((tag) => limits.has(tag));
    return bucket === null && tags.length === 0 ? UNLIMITED : admissionKey({ name: "", bucket, tags });
  }

  #park(admissionClass: AdmissionClass<Task>, blocker: LineBlocker): void {
    const line = this.#lineOf(blocker);
    if (admissionClass.line !== line) {
      this.#leave(admissionClass);
      this.#join(admissionClass, line);
    }
    if (line.heapIndex !== -1) this.#open.remove(line);
  }

  #lineOf(blocker: LineBlocker): Line<Task> {
    const found = blocker.kind === "tag" ? this.#tagLines.get(blocker.tag) : this.#bucketLines.get(blocker.bucket);
    if (found !== undefined) return found;
    const line = this.#newLine(blocker);
    if (blocker.kind === "tag") this.#tagLines.set(blocker.tag, line);
    else this.#bucketLines.set(blocker.bucket, line);
    return line;
  }

  #dissolve(admissionClass: AdmissionClass<Task>): void {
    if (admissionClass.key !== UNLIMITED) this.#classes.delete(admissionClass.key); // where nothing is limited it would come and go with each task
    this.#leave(admissionClass);
  }

  #join(admissionClass: AdmissionClass<Task>, line: Line<Task>): void {
    admissionClass.line = line;
    line.classes.push(admissionClass);
    this.#lineChanged(line);
  }

  #leave(admissionClass: AdmissionClass<Task>): void {
    const { line } = admissionClass;
    line.classes.remove(admissionClass);
    if (line.classes.size > 0) this.#lineChanged(line);
    else this.#drop(line);
  }

  #drop(line: Line<Task>): void {
    if (line.heapIndex !== -1) this.#open.remove(line);
    if (line.blocker?.kind === "tag") this.#tagLines.delete(line.blocker.tag);
    else if (line.blocker?.kind === "bucket") this.#bucketLines.delete(line.blocker.bucket);
  }

  #firstChanged(admissionClass: AdmissionClass<Task>): void {
    rankAs(admissionClass, admissionClass.tasks.first);
    admissionClass.line.classes.reposition(admissionClass);
    this.#lineChanged(admissionClass.line);
  }

  #lineChanged(line: Line<Task>): void {
    rankAs(line, line.classes.first);
    if (line.heapIndex !== -1) this.#open.reposition(line);
  }

  #reopen(line: Line<Task> | undefined): void {
    if (line !== undefined && line.heapIndex === -1) this.#open.push(line);
  }

  #newLine(blocker: LineBlocker | null): Line<Task> {
    return { ...UNRANKED, blocker, classes: new IndexedHeap<AdmissionClass<Task>>(this.#compare) };
  }
}

const NO_TAGS: readonly string[] = [];

/** The key of the class that no tag and no bucket limits. */
const UNLIMITED = "";

const UNRANKED = { heapIndex: -1, priority: 0, sequence: 0, queuedAt: 0 };
