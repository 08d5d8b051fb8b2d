import { admissionKey, compareAged, compareQueued } from "../core/admission.ts";
import type { AdmissionLimits, AgedKey, Blocker, SlotClaim } from "../core/admission.ts";
import { InternalError } from "../core/errors.ts";
import { holdId, holdIdsOf, isUnder } from "../core/holds.ts";
import type { Holdable, HoldKey } from "../core/holds.ts";
import { TaskLanes } from "./task-lanes.ts";
import type { LaneTask } from "./task-lanes.ts";
import { WaitingLines } from "./waiting-lines.ts";
import type { AdmissionClass } from "./waiting-lines.ts";

/** A task as the queue holds it. */
export interface QueuedTask<Self extends LaneTask<Self>> extends LaneTask<Self>, SlotClaim, Holdable {
  /** The order of arrival; written by the queue. */
  sequence: number;
  /** Where it stands; written by the queue. `null`: in none. */
  admissionClass: AdmissionClass<Self> | null;
}

/** What decides the order, and who waits with whom. */
export interface QueueRules extends Pick<AdmissionLimits, "limits" | "perBucket"> {
  /** Waiting this long is worth one step of priority; `null`: no aging. */
  readonly agingMs: number | null;
}

/**
 * The tasks that are ready, in exact order: the higher priority first, then the one that came first (with
 * aging, `compareAged`). A task whose tag or bucket is used up, or which is held, holds up nobody else: its
 * class is parked in the line of what is in its way, and that line stays closed until a slot of it is given
 * back or the hold ends. Each class that is looked at costs O(log n), and only those are looked at that would
 * be next. Source §5.3.
 */
export class ReadyQueue<Task extends QueuedTask<Task>> {
  #rules: QueueRules;
  #compare: (a: AgedKey, b: AgedKey) => number = compareQueued;
  #lines: WaitingLines<Task>;
  readonly #classes = new Map<string, AdmissionClass<Task>>();
  readonly #held = new Set<string>();
  /** What is or was held, with the number of classes that are under it: such tasks stand in classes of their own. */
  readonly #apart = new Map<string, number>();
  #size = 0;
  #sequence = 0;

  constructor({ limits, perBucket, agingMs }: QueueRules) {
    this.#rules = { limits, perBucket, agingMs };
    this.#lines = new WaitingLines(this.#compare);
    this.#sortAnew(agingMs);
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
    const { admissionClass } = task;
    if (admissionClass === null) throw new InternalError("the task is not in the ready queue.");
    this.#takeOut(task, admissionClass);
  }

  /**
   * Takes out the first task that can start; `undefined`: none can.
   * @param acquire takes the task's slots, all or none, and answers what is in the way
   */
  take(acquire: (task: Task) => Blocker | null): Task | undefined {
    for (let admissionClass = this.#lines.first; admissionClass !== undefined; admissionClass = this.#lines.first) {
      const task = admissionClass.tasks.first;
      const blocker = this.#holdOn(admissionClass) ?? acquire(task);
      if (blocker === null) {
        this.#takeOut(task, admissionClass);
        return task;
      }
      if (blocker.kind === "global") return undefined;
      this.#lines.park(admissionClass, blocker);
    }
    return undefined;
  }

  /** Slots of these tags and this bucket were given back: whoever waits for them is looked at again. */
  released({ bucket, tags }: SlotClaim): void {
    if (bucket !== null) this.#lines.openBucket(bucket);
    for (const tag of tags) this.#lines.openTag(tag);
  }

  /**
   * No task under this key is taken until `release`. The first time O(n + m log m) with m tasks under it, since they are
   * set apart from the others of their classes; from then on O(1).
   */
  hold(key: HoldKey): void {
    const id = holdId(key);
    this.#held.add(id);
    if (this.#apart.has(id)) return;
    this.#apart.set(id, 0);
    this.#regroup((task) => isUnder(task, key));
  }

  /** The key is held no longer: whoever waits for that is looked at again. */
  release(key: HoldKey): void {
    const id = holdId(key);
    this.#held.delete(id);
    this.#lines.openHold(id);
    if (this.#apart.get(id) === 0) this.#apart.delete(id);
  }

  /** Other limits or another aging: what waits for a limit is looked at again. O(n + m log m) where m tasks come under a new one. */
  setRules(rules: QueueRules): void {
    const before = this.#rules;
    const { limits, perBucket, agingMs } = rules;
    this.#rules = { limits, perBucket, agingMs }; // a copy: the caller's may change
    if (before.agingMs !== agingMs) return this.#sortAnew(agingMs);
    const added = new Set(limits.keys().filter((tag) => !before.limits.has(tag)));
    const byBucket = before.perBucket === null && perBucket !== null;
    if (added.size > 0 || byBucket) this.#regroup(({ bucket, tags }) => (byBucket && bucket !== null) || tags.some((tag) => added.has(tag)));
    this.#lines.openLimits();
  }

  /** These tasks no longer stand with others of their classes. All that would stand with one of them is among them. */
  #regroup(concerns: (task: Task) => boolean): void {
    const tasks = [...this.#classes.values()].flatMap((admissionClass) => admissionClass.tasks.filter(concerns));
    for (const task of tasks) this.remove(task);
    for (const task of tasks.sort(this.#compare)) this.#insert(task);
  }

  #sortAnew(agingMs: number | null): void {
    const tasks = [...this.#classes.values()].flatMap((admissionClass) => admissionClass.tasks.filter(() => true));
    for (const task of tasks) this.remove(task);
    this.#classes.clear();
    this.#compare = agingMs === null ? compareQueued : (a, b) => compareAged(a, b, agingMs);
    this.#lines = new WaitingLines(this.#compare);
    for (const task of tasks.sort(this.#compare)) this.#insert(task);
  }

  /** What is held and in the way of every task of the class. */
  #holdOn({ holds }: AdmissionClass<Task>): { readonly kind: "hold"; readonly id: string } | null {
    if (holds.length === 0) return null;
    const id = holds.find((held) => this.#held.has(held));
    return id === undefined ? null : { kind: "hold", id };
  }

  #insert(task: Task): void {
    const admissionClass = this.#classOf(task);
    task.admissionClass = admissionClass;
    admissionClass.tasks.add(task);
    this.#size += 1;
    if (admissionClass.line === null) this.#lines.enter(admissionClass);
    else if (task === admissionClass.tasks.first) this.#lines.firstChanged(admissionClass);
  }

  #takeOut(task: Task, admissionClass: AdmissionClass<Task>): void {
    const wasFirst = task === admissionClass.tasks.first;
    admissionClass.tasks.remove(task);
    task.admissionClass = null;
    this.#size -= 1;
    if (admissionClass.tasks.isEmpty) this.#dissolve(admissionClass);
    else if (wasFirst) this.#lines.firstChanged(admissionClass);
  }

  #classOf(task: Task): AdmissionClass<Task> {
    const holds = this.#apart.size === 0 ? NOTHING : holdIdsOf(task, this.#apart);
    const key = this.#keyOf(task, holds);
    const found = this.#classes.get(key);
    if (found !== undefined) return found;
    const admissionClass = { ...UNRANKED, key, holds, tasks: new TaskLanes<Task>(this.#compare), line: null };
    this.#classes.set(key, admissionClass);
    this.#countApart(holds, 1);
    return admissionClass;
  }

  /** What limits nothing (a tag without a limit, a name that is not held) is left out: the fewer classes the better. */
  #keyOf(task: Task, holds: readonly string[]): string {
    const { limits, perBucket } = this.#rules;
    const bucket = perBucket === null ? null : task.bucket;
    const tags = limits.size === 0 ? NOTHING : task.tags.filter((tag) => limits.has(tag));
    if (bucket === null && tags.length === 0 && holds.length === 0) return UNLIMITED;
    return admissionKey({ bucket, tags }, holds);
  }

  #dissolve(admissionClass: AdmissionClass<Task>): void {
    this.#lines.leave(admissionClass);
    if (admissionClass.key === UNLIMITED) return; // where nothing is limited it would come and go with each task
    this.#classes.delete(admissionClass.key);
    this.#countApart(admissionClass.holds, -1);
  }

  #countApart(ids: readonly string[], change: 1 | -1): void {
    for (const id of ids) {
      const classes = (this.#apart.get(id) ?? 0) + change;
      if (classes === 0 && !this.#held.has(id)) this.#apart.delete(id);
      else this.#apart.set(id, classes);
    }
  }
}

const NOTHING: readonly string[] = [];

/** The key of the class that no tag and no bucket limits and that was never held. */
const UNLIMITED = "";

const UNRANKED = { heapIndex: -1, priority: 0, sequence: 0, queuedAt: 0 };
