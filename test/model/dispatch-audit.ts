import type { PipelineRunStatusChanged, TaskEvent, TaskStatus, TaskStatusChanged } from "../../src/index.ts";
import { isOver } from "./rules.ts";

/** The limits that are in force, as one would write them down. */
export interface Limits {
  readonly maxParallel: number;
  readonly tags: Readonly<Record<string, number>>;
}

/** What a task asks for. */
export interface Claim {
  readonly priority: number;
  readonly tags: readonly string[];
  /** The registered name of its task, where names are held. */
  readonly name?: string;
  /** Its run; `null` or left out: none. */
  readonly runId?: string | null;
  /** Not before this instant, for one that was submitted with a delay. */
  readonly availableAt?: number | null;
  /** It takes no slot: a map, whose items do. */
  readonly isExempt?: boolean;
  /** It is an item of a map, which lets it through when it likes: the record does not tell when. */
  readonly isGated?: boolean;
}

interface Waiting {
  /** The instant from which on it may begin, epoch milliseconds. */
  readonly sinceMs: number;
  readonly arrival: number;
  /** It had to wait for that instant: beside what came at the very same one its place is open. */
  readonly wasDelayed: boolean;
}

const HOLDING: readonly TaskStatus[] = ["starting", "running", "pausing", "stopping"];

/**
 * Reads what was published, in order, and says where a task began that had to wait: because a limit was used up,
 * or because another that could have begun came first. It knows nothing of how the scheduler finds the next one.
 */
export class DispatchAudit {
  readonly wrong: string[] = [];
  starts = 0;
  limits: Limits;
  /** Names and tags that nobody may start. */
  readonly held = new Set<string>();
  readonly #claimOf: (taskId: string) => Claim;
  readonly #waiting = new Map<string, Waiting>();
  readonly #holding = new Set<string>();
  /** How many bodies that were given up on may still hold the tags of each task: the record tells their end late. */
  readonly #left = new Map<string, number>();
  /** Taken from their bodies and put back to the start by force: they may still wait for those to end. */
  readonly #torn = new Set<string>();
  readonly #retryAt = new Map<string, number>();
  #arrivals = 0;

  constructor(limits: Limits, claimOf: (taskId: string) => Claim) {
    this.limits = limits;
    this.#claimOf = claimOf;
  }

  read(event: TaskEvent): void {
    if (event.type === "AttemptFailed" && event.retryAt !== null) this.#retryAt.set(event.taskId, event.retryAt);
    if (event.type === "TaskWarning" && event.code === "abandoned_body_ended") this.#leave(event.taskId, -1);
    if (event.type === "PipelineRunStatusChanged") this.#runStep(event);
    if (event.type === "TaskStatusChanged") this.#step(event);
  }

  /** Tasks that could begin at that instant and have not: nobody may wait while what it needs is free. */
  idleAt(now: number): readonly string[] {
    return [...this.#waiting.keys()].filter((taskId) => (this.#placeOf(taskId)?.sinceMs ?? Infinity) <= now && this.#isFree(taskId));
  }

  #runStep({ pipelineRunId, to }: PipelineRunStatusChanged): void {
    if (to === "pausing" || to === "paused") this.held.add(`run ${pipelineRunId}`);
    else this.held.delete(`run ${pipelineRunId}`);
  }

  #step(step: TaskStatusChanged): void {
    const { taskId, from, to, trigger, at } = step;
    // It takes no slot: a function of the user's has thrown.
    if (trigger === "pipeline:function-threw" || this.#claimOf(taskId).isExempt === true) return;
    if (to === "starting") this.#start(taskId, at);
    if (to === "queued") this.#queue(step);
    // Its failure is told behind the step.
    else if (to === "retry_wait") this.#waiting.set(taskId, { sinceMs: Infinity, arrival: (this.#arrivals += 1), wasDelayed: true });
    else this.#waiting.delete(taskId);
    this.#hold(step, from);
  }

  #queue({ taskId, from, at, trigger, statusVersion }: TaskStatusChanged): void {
    // Its time had come already, and that is since when it waits.
    if (from === "retry_wait" && trigger === "retry:backoff-elapsed") return;
    const { availableAt } = this.#claimOf(taskId);
    if (statusVersion === 1 && typeof availableAt === "number") this.#retryAt.set(taskId, availableAt);
    // Resumed after a pause in its backoff, or before its time, it keeps its instant.
    const keeps = statusVersion === 1 || (from === "paused" && trigger === "user:resume");
    const dueMs = keeps ? (this.#retryAt.get(taskId) ?? 0) : 0;
    this.#arrivals += 1;
    this.#waiting.set(taskId, { sinceMs: Math.max(at, dueMs), arrival: this.#arrivals, wasDelayed: dueMs > at });
  }

  #hold({ taskId, to, kind }: TaskStatusChanged, from: TaskStatus): void {
    if (to === "starting" || isOver(to)) this.#retryAt.delete(taskId);
    if (to === "starting") this.#torn.delete(taskId);
    if (HOLDING.includes(to)) return void this.#holding.add(taskId);
    // Paused in place it keeps what it has.
    if (to === "paused" && from === "pausing") return;
    if (!this.#holding.delete(taskId)) return;
    if (to === "lost" || kind === "override") this.#leave(taskId, 1);
    if (kind === "override") this.#torn.add(taskId);
  }

  #leave(taskId: string, by: number): void {
    this.#left.set(taskId, (this.#left.get(taskId) ?? 0) + by);
  }

  #start(taskId: string, at: number): void {
    this.starts += 1;
    const own = this.#placeOf(taskId);
    const blocker = this.#blocker(taskId);
    if (blocker !== null) this.wrong.push(`task ${taskId} began though ${blocker}`);
    if (own === undefined) return void this.wrong.push(`task ${taskId} began though it did not wait`);
    if (own.sinceMs > at) this.wrong.push(`task ${taskId} began ${own.sinceMs - at} ms too early`);
    for (const other of this.#waiting.keys())
      if (other !== taskId && this.#comesBefore(other, { taskId, own, at })) this.wrong.push(`task ${taskId} began before ${other}`);
  }

  /** A backoff that is over counts from its instant. */
  #placeOf(taskId: string): Waiting | undefined {
    const place = this.#waiting.get(taskId);
    return place?.sinceMs === Infinity ? { ...place, sinceMs: this.#retryAt.get(taskId) ?? Infinity } : place;
  }

  #comesBefore(other: string, { taskId, own, at }: { readonly taskId: string; readonly own: Waiting; readonly at: number }): boolean {
    const place = this.#placeOf(other);
    if (place === undefined || place.sinceMs > at || !isEarlier(place, own, this.#claimOf(other).priority - this.#claimOf(taskId).priority)) return false;
    return this.#isFree(other);
  }

  #blocker(taskId: string): string | null {
    const { name = "", tags, runId } = this.#claimOf(taskId);
    const hold = [`name ${name}`, `run ${runId}`, ...tags.map((tag) => `tag ${tag}`)].find((each) => this.held.has(each));
    if (hold !== undefined) return `${hold} is held`;
    if (this.#holding.size >= this.limits.maxParallel) return `${this.#holding.size} of ${this.limits.maxParallel} slots were taken`;
    const full = [...new Set(tags)].find((tag) => this.#tagged(tag) >= (this.limits.tags[tag] ?? Infinity));
    return full === undefined ? null : `"${full}" was used up`;
  }

  #tagged(tag: string): number {
    return [...this.#holding].filter((taskId) => this.#claimOf(taskId).tags.includes(tag)).length;
  }

  /** Nothing is in its way, nor anything that may still be there. */
  #isFree(taskId: string): boolean {
    if (this.#torn.has(taskId) || this.#claimOf(taskId).isGated === true || this.#blocker(taskId) !== null) return false;
    const left = [...this.#left].flatMap(([other, count]) => (count > 0 ? this.#claimOf(other).tags : []));
    return !this.#claimOf(taskId).tags.some((tag) => tag in this.limits.tags && left.includes(tag));
  }
}

function isEarlier(place: Waiting, than: Waiting, morePriority: number): boolean {
  if (morePriority !== 0) return morePriority > 0;
  if (place.sinceMs !== than.sinceMs) return place.sinceMs < than.sinceMs;
  return !place.wasDelayed && !than.wasDelayed && place.arrival < than.arrival;
}
