import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import { createLogUpdate } from "log-update";
import type { TaskEvent, TaskWarning } from "../../core/events.ts";
import { STALL_MS, stallLine } from "../../core/stall-line.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import type { OutputStream } from "../host.ts";
import { cleanText } from "./clean-text.ts";
import type { LineOptions } from "./event-lines.ts";
import { drawFrame } from "./frame.ts";
import { tellEvent } from "./item-lines.ts";
import type { Diversion, Output } from "./output.ts";
import type { Reporter } from "./reporter.ts";
import { RunBoard } from "./run-board.ts";
import { drawSummary } from "./summary.ts";
import type { EndSummary } from "./summary.ts";
import { widthOf } from "./table.ts";

/** At most ten repaints a second. */
const TICK_MS = 100;
/** Times move on their own only so often. */
const TIME_MS = 500;
/** No tick for so long: the loop was blocked, and its watcher may have written a line to stderr, below the view. */
const BLOCKED_MS = 900;

/** What a live view is made of. */
export interface LiveOptions extends LineOptions {
  readonly title: string;
  /** What else goes to the same terminal: led around the view. */
  readonly others: readonly Output[];
  /** Is the terminal also that of the process's stderr? */
  readonly sharesStderr: boolean;
}

/** A line a node, repainted in place as events come; log lines and what bodies print go above it. */
export class LiveReporter implements Reporter {
  readonly #output: Output;
  readonly #options: LiveOptions;
  readonly #board = new RunBoard();
  readonly #terminal: OutputStream;
  readonly #draw: ReturnType<typeof createLogUpdate>;
  readonly #ticker: NodeJS.Timeout;
  readonly #diversions: readonly Diversion[];
  readonly #onResize = (): void => this.#resized();
  /** Lines that wait to be put above the view. */
  readonly #kept: string[] = [];
  #frame: readonly string[] = [];
  #isDirty = true;
  #paintedAtMs = 0;
  #isOpen = true;
  #tickedAtMs = performance.now();
  /** Lines below the view that are not ours. */
  #foreign = 0;
  /** It may be that there are, and nobody has said so yet. */
  #isUnsure = false;

  constructor(output: Output, options: LiveOptions) {
    this.#output = output;
    this.#options = options;
    // The terminal as it is, but for `write`: what others write to it takes another way meanwhile.
    this.#terminal = Object.create(output.stream, { write: { value: (text: string) => output.write(text) } }) as OutputStream;
    this.#draw = createLogUpdate(this.#terminal);
    this.#diversions = [output, ...options.others].map((each) => each.divert((line) => this.#keep([cleanText(line)])));
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    output.stream.on("resize", this.#onResize);
  }

  event(event: TaskEvent): void {
    const row = this.#board.apply(event);
    this.#isDirty = true;
    if (event.type === "TaskWarning" && event.code === "loop_stalled") this.#announced(event);
    const isInTheRows = event.type === "TaskStatusChanged" || event.type === "ProgressUpdated" || event.type === "PipelineRunStatusChanged";
    if (!isInTheRows || (this.#options.verbose && event.type === "TaskStatusChanged")) this.#keep(tellEvent(event, row, this.#options));
  }

  describe(snapshot: TaskSnapshot): void {
    this.#board.describe(snapshot);
    this.#isDirty = true;
  }

  note(text: string): void {
    this.#keep([text]);
    if (this.#isOpen && !this.#wasBlocked()) this.#paint(Date.now());
  }

  /** The next frame and the summary clear what stands below the view. */
  interrupted(): void {
    if (this.#isOpen) this.#clearBelow();
  }

  end(summary: EndSummary): void {
    for (const diversion of this.#diversions) diversion.flush();
    if (this.#isOpen) {
      this.#wasBlocked();
      this.#board.startedAt = summary.startedAt;
      this.#board.endedAt = summary.endedAt;
      this.#paint(summary.endedAt);
    }
    this.restore();
    for (const line of drawSummary(summary, this.#options)) this.#output.line(line);
  }

  restore(): void {
    if (!this.#isOpen) return;
    for (const diversion of this.#diversions) diversion.end();
    this.#isOpen = false;
    clearInterval(this.#ticker);
    this.#output.stream.off("resize", this.#onResize);
    if (!this.#isUnsure) this.#clearBelow();
    this.#draw.done();
  }

  #tick(): void {
    if (this.#wasBlocked()) {
      this.#tickedAtMs = performance.now();
      // Until the next tick the warning may come that says what was written.
      return;
    }
    this.#tickedAtMs = performance.now();
    const isDue = this.#isDirty || (this.#board.isActive && Date.now() - this.#paintedAtMs >= TIME_MS);
    if (isDue) this.#paint(Date.now());
  }

  /** Lines that stay, above the view: with the next repaint. */
  #keep(lines: readonly string[]): void {
    if (!this.#isOpen) return lines.forEach((line) => this.#output.line(line));
    this.#kept.push(...lines);
    this.#isDirty = true;
  }

  #wasBlocked(): boolean {
    const wasBlocked = performance.now() - this.#tickedAtMs >= BLOCKED_MS;
    if (wasBlocked && this.#options.sharesStderr) this.#isUnsure = true;
    return wasBlocked;
  }

  /** The watcher has said the same on stderr while the loop was blocked; it goes when the view is drawn again. */
  #announced(event: TaskWarning): void {
    if (!this.#options.sharesStderr) return;
    const { columns = 80 } = this.#terminal;
    this.#foreign += Math.ceil(widthOf(announcement(event)) / columns);
    this.#isUnsure = false;
  }

  /** Back to where the view ends. */
  #clearBelow(): void {
    cursorTo(this.#terminal, 0);
    if (this.#foreign > 0) moveCursor(this.#terminal, 0, -this.#foreign);
    clearScreenDown(this.#terminal);
    this.#foreign = 0;
  }

  #paint(nowMs: number): void {
    if (this.#foreign > 0) this.#clearBelow();
    // Where the view ends cannot be told: a new one begins here, the old one stays above.
    if (this.#isUnsure) this.#draw.done();
    this.#isUnsure = false;
    if (this.#kept.length > 0) this.#draw.persist(this.#kept.splice(0).join("\n"));
    const { columns = 80, rows = 24 } = this.#terminal;
    // The last column stays free, since some terminals wrap there, and the last row, where the cursor rests.
    const size = { width: Math.max(1, columns - 1), height: Math.max(1, rows - 1) };
    this.#frame = drawFrame(this.#board, { ...this.#options, ...size, nowMs });
    this.#draw(this.#frame.join("\n"));
    this.#isDirty = false;
    this.#paintedAtMs = nowMs;
  }

  /** A terminal that became narrower has broken our lines into more: all of them go, and the frame is drawn anew. */
  #resized(): void {
    const { columns = 80 } = this.#terminal;
    const lines = this.#frame.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
    moveCursor(this.#terminal, 0, -lines);
    cursorTo(this.#terminal, 0);
    clearScreenDown(this.#terminal);
    this.#draw.done();
    this.#paint(Date.now());
  }
}

/** What the watcher of the event loop writes; here only its length counts. */
function announcement({ message, name, taskId }: TaskWarning): string {
  return stallLine({ taskId, name, blockedMs: STALL_MS, place: /, at ([^<]*?\))/.exec(message)?.[1] });
}
