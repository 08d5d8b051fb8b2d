/** A line longer than this is passed on in pieces. */
const MAX_LINE_CHARS = 64 * 1024;

/** So much of an attempt's output is passed on; of what comes after, only the end. */
const MAX_CHARS = 10 * 1024 * 1024;

const TAIL_LINES = 100;

/**
 * What a carrier prints, line by line, in bounded memory: after 10 Mi characters the rest is counted, and its last
 * hundred lines are given at the end behind a mark.
 */
export class OutputLines {
  readonly #give: (line: string) => void;
  readonly #isMark: (text: string) => boolean;
  #rest = "";
  #given = 0;
  #droppedLines = 0;
  #tail: string[] = [];

  /** @param takeMark is shown the end of each line from its last NUL on: true, and it was a mark, no output */
  constructor(give: (line: string) => void, takeMark: (text: string) => boolean = () => false) {
    this.#give = give;
    this.#isMark = takeMark;
  }

  add(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      this.#line(this.#rest + text.slice(from, end));
      this.#rest = "";
      from = end + 1;
    }
    this.#rest += from === 0 ? text : text.slice(from);
    while (this.#rest.length > MAX_LINE_CHARS) {
      this.#line(this.#rest.slice(0, MAX_LINE_CHARS));
      this.#rest = this.#rest.slice(MAX_LINE_CHARS);
    }
  }

  end(): void {
    if (this.#rest !== "") this.#line(this.#rest);
    this.#rest = "";
    if (this.#droppedLines > TAIL_LINES) this.#give(`[… ${this.#droppedLines - TAIL_LINES} lines were dropped: more than ${MAX_CHARS} characters …]`);
    for (const line of this.#tail) this.#give(line);
    this.#tail = [];
  }

  #line(line: string): void {
    const nul = line.lastIndexOf("\u0000");
    if (nul !== -1 && this.#isMark(line.slice(nul))) {
      // A line that the task had not ended stands before the mark.
      if (nul > 0) this.#keep(line.slice(0, nul));
      return;
    }
    this.#keep(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  #keep(text: string): void {
    if (this.#given + text.length <= MAX_CHARS && this.#droppedLines === 0) {
      this.#given += text.length + 1;
      this.#give(text);
      return;
    }
    this.#droppedLines += 1;
    this.#tail.push(text);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
  }
}
