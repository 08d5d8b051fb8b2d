import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import { createLogUpdate } from "log-update";
import type { TaskEvent } from "../../core/events.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import type { OutputStream } from "../host.ts";
import { cleanText } from "./clean-text.ts";
import { eventLines } from "./event-lines.ts";
import type { LineOptions } from "./event-lines.ts";
import { drawFrame } from "./frame.ts";
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

/** What a live view is made of. */
export interface LiveOptions extends LineOptions {
  readonly title: string;
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
  /** What else goes to the same terminal: led around the view. */
  readonly others: readonly Output[];
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
    const isInTheRows = event.type === "TaskStatusChanged" || event.type === "ProgressUpdated" || event.type === "PipelineRunStatusChanged";
    if (!isInTheRows || (this.#options.verbose && event.type === "TaskStatusChanged")) this.#keep(eventLines(event, row, this.#options));
  }

  describe(snapshot: TaskSnapshot): void {
    this.#board.describe(snapshot);
    this.#isDirty = true;
  }

  note(text: string): void {
    this.#keep([text]);
    if (this.#isOpen) this.#paint(Date.now());
  }

  end(summary: EndSummary): void {
    for (const diversion of this.#diversions) diversion.flush();
    if (this.#isOpen) this.#paint(summary.endedAt);
    this.restore();
    for (const line of drawSummary(summary, this.#options)) this.#output.line(line);
  }

  restore(): void {
    if (!this.#isOpen) return;
    for (const diversion of this.#diversions) diversion.end();
    this.#isOpen = false;
    clearInterval(this.#ticker);
    this.#output.stream.off("resize", this.#onResize);
    this.#draw.done();
  }

  #tick(): void {
    const isDue = this.#isDirty || (this.#board.isActive && Date.now() - this.#paintedAtMs >= TIME_MS);
    if (isDue) this.#paint(Date.now());
  }

  /** Lines that stay, above the view: with the next repaint. */
  #keep(lines: readonly string[]): void {
    if (!this.#isOpen) return lines.forEach((line) => this.#output.line(line));
    this.#kept.push(...lines);
    this.#isDirty = true;
  }

  #paint(nowMs: number): void {
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
