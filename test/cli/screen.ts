import xterm from "@xterm/headless";
import { Writable } from "node:stream";
import type { OutputStream } from "../../src/cli/host.ts";

/** A terminal with a screen that can be looked at. */
export interface Screen {
  readonly stream: OutputStream;
  /** How often something was written. */
  readonly writes: () => number;
  /** Everything that was written. */
  readonly raw: () => string;
  /** What stands on it, scrolled-out lines included, without blank lines at the end. */
  lines(): Promise<readonly string[]>;
  resize(columns: number, rows: number): void;
}

/** A terminal emulator of that size. */
export function screen(columns: number, rows: number): Screen {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true, scrollback: 10_000 });
  let raw = "";
  let writes = 0;
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      raw += chunk;
      writes += 1;
      terminal.write(chunk);
      done();
    },
  });
  const size = { isTTY: true, columns, rows };
  const out = Object.assign(stream, size);
  return {
    stream: out,
    writes: () => writes,
    raw: () => raw,
    async lines() {
      await new Promise<void>((resolve) => terminal.write("", resolve));
      const { active } = terminal.buffer;
      const all = Array.from({ length: active.length }, (_, index) => active.getLine(index)?.translateToString(true) ?? "");
      return all.slice(0, all.findLastIndex((line) => line !== "") + 1);
    },
    resize(wide, high) {
      terminal.resize(wide, high);
      Object.assign(out, { columns: wide, rows: high });
      out.emit("resize");
    },
  };
}
