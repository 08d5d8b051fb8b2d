/** A line longer than this is passed on in pieces. */
const MAX_LINE_CHARS = 64 * 1024;

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
  #rest = "";
  #given = 0;
  #droppedLines = 0;
  #tail: string[] = [];
  #tailChars = 0;

  constructor(give: (line: string) => void) {
    this.#give = give;
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
    if (this.#rest.length > MAX_LINE_CHARS) this.#rest = this.#pieces(this.#rest);
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
    this.#keep(this.#pieces(line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  /** Passes on whole pieces of a line that is too long; answers with the rest. */
  #pieces(line: string): string {
    let from = 0;
    while (line.length - from > MAX_LINE_CHARS) {
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
