/** A line longer than this is passed on in pieces. */
const MAX_LINE_CHARS = 64 * 1024;

/** No mark is longer. */
const MARK_CHARS = 256;

/** So much of an attempt's output is passed on; of what comes after, only the end. */
const MAX_CHARS = 10 * 1024 * 1024;

const TAIL_LINES = 100;
const MAX_TAIL_CHARS = 256 * 1024;

/**
 * What a carrier prints, line by line, in bounded memory: after 10 Mi characters the rest is counted, and its last
 * hundred lines (less where they are long) are given at the end behind a mark.
 */
export class OutputLines {
  readonly #give: (line: string) => void;
  readonly #isMark: (text: string) => boolean;
  readonly #marked: () => void;
  #rest = "";
  #given = 0;
  #droppedLines = 0;
  #tail: string[] = [];
  #tailChars = 0;

  /**
   * @param isMark is shown the end of each line from its last NUL on: true, and it is a mark, no output
   * @param marked a mark has come; what stood before it has been given, and `end` may be called
   */
  constructor(give: (line: string) => void, isMark: (text: string) => boolean = () => false, marked: () => void = () => {}) {
    this.#give = give;
    this.#isMark = isMark;
    this.#marked = marked;
  }

  add(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      const line = this.#rest + text.slice(from, end);
      this.#rest = "";
      this.#line(line);
      from = end + 1;
    }
    this.#rest += from === 0 ? text : text.slice(from);
    // What may be the beginning of a mark is not cut in two.
    if (this.#rest.length > MAX_LINE_CHARS + MARK_CHARS) this.#rest = this.#pieces(this.#rest, MARK_CHARS);
  }

  end(): void {
    if (this.#rest !== "") this.#line(this.#rest);
    this.#rest = "";
    const lost = this.#droppedLines - this.#tail.length;
    if (lost > 0) this.#give(`[… ${lost} lines were dropped: more than ${MAX_CHARS} characters …]`);
    for (const line of this.#tail) this.#give(line);
    this.#tail = [];
    this.#tailChars = 0;
  }

  #line(line: string): void {
    const nul = line.lastIndexOf("\u0000");
    if (nul === -1 || !this.#isMark(line.slice(nul))) {
      this.#keep(this.#pieces(line.endsWith("\r") ? line.slice(0, -1) : line, 0));
      return;
    }
    // A line that the task had not ended stands before the mark.
    if (nul > 0) this.#keep(this.#pieces(line.slice(0, nul), 0));
    this.#marked();
  }

  /** Passes on whole pieces of a line that is too long, as long as more than so much is left of it; answers with the rest. */
  #pieces(line: string, leave: number): string {
    let from = 0;
    while (line.length - from > MAX_LINE_CHARS + leave) {
      const to = from + MAX_LINE_CHARS;
      // Two halves of one character stay together.
      const end = isHighSurrogate(line.charCodeAt(to - 1)) ? to - 1 : to;
      this.#keep(line.slice(from, end));
      from = end;
    }
    return from === 0 ? line : line.slice(from);
  }

  #keep(text: string): void {
    if (this.#given + text.length <= MAX_CHARS && this.#droppedLines === 0) {
      this.#given += text.length + 1;
      this.#give(text);
      return;
    }
    this.#droppedLines += 1;
    this.#tail.push(text);
    this.#tailChars += text.length;
    while (this.#tail.length > TAIL_LINES || this.#tailChars > MAX_TAIL_CHARS) this.#tailChars -= this.#tail.shift()?.length ?? 0;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
