import type { OutputStream } from "../host.ts";

/** What a stream says when nobody reads it any more: a closed pipe, a terminal that is gone. */
const CLOSED_CODES: readonly unknown[] = ["EPIPE", "EIO", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"];

/** Characters of a line that does not end, before it is handed on all the same. */
const MAX_LINE = 64 * 1_024;

/** Does it mean that nobody reads any more? */
export function isClosing(error: Error): boolean {
  return "code" in error && CLOSED_CODES.includes(error.code);
}

/** What others write to a stream goes elsewhere meanwhile. */
export interface Diversion {
  /** Hands on what was written of a line that has not ended. */
  flush(): void;
  end(): void;
}

/**
 * One of the two streams. When it breaks, nothing more is written to it and whoever asked is told, once. What
 * others write to it (a task's `console.log`) can be led elsewhere, so that it spoils neither data nor a live view.
 */
export class Output {
  readonly stream: OutputStream;
  readonly #write: OutputStream["write"];
  #onClosed: () => void = () => {};
  #broken = false;
  #isClosed = false;

  constructor(stream: OutputStream) {
    this.stream = stream;
    this.#write = stream.write.bind(stream);
    stream.on("error", (error: Error) => this.#break(error));
  }

  /** Calls back when nobody reads it any more, also where that was before. */
  onClosed(listener: () => void): void {
    this.#onClosed = listener;
    if (this.#isClosed) listener();
  }

  get isTerminal(): boolean {
    return this.stream.isTTY === true;
  }

  /** Columns of the terminal, 80 where it does not say; `undefined` where there is none: then nothing is cut. */
  get width(): number | undefined {
    return this.isTerminal ? (this.stream.columns ?? 80) : undefined;
  }

  write(text: string): void {
    if (!this.#broken) this.#write(text);
  }

  line(text: string): void {
    this.write(`${text}\n`);
  }

  /** From now on, what others write goes to `sink`, in whole lines; one that is very long goes in pieces. */
  divert(sink: (line: string) => void): Diversion {
    const { stream } = this;
    const decoder = new TextDecoder();
    let parts: string[] = [];
    let length = 0;
    const flush = (): void => {
      if (length > 0) sink(parts.join(""));
      parts = [];
      length = 0;
    };
    const hold = (text: string): void => {
      if (text === "") return;
      parts.push(text);
      length += text.length;
    };
    const take = (chunk: unknown, ...more: readonly unknown[]): boolean => {
      const text = typeof chunk === "string" ? chunk : chunk instanceof Uint8Array ? decoder.decode(chunk, { stream: true }) : "";
      // Only what is new is looked at: a line may come in a great many pieces.
      const [first = "", ...others] = text.split("\n");
      hold(first);
      for (const line of others) {
        sink(parts.join(""));
        parts = [line];
        length = line.length;
      }
      if (length > MAX_LINE) flush();
      const done = more.find((argument) => typeof argument === "function");
      if (done !== undefined) queueMicrotask(() => void Reflect.apply(done, undefined, []));
      return true;
    };
    Object.defineProperty(stream, "write", { value: take, configurable: true, writable: true });
    return {
      flush,
      end: () => {
        Object.defineProperty(stream, "write", { value: this.#write, configurable: true, writable: true });
        flush();
      },
    };
  }

  #break(error: Error): void {
    if (this.#broken) return;
    this.#broken = true;
    if (!isClosing(error)) return;
    this.#isClosed = true;
    this.#onClosed();
  }
}
