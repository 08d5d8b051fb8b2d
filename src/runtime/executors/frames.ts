import { deserialize, serialize } from "node:v8";
import { refuseForeign } from "./foreign-objects.ts";

/** No text begins like this: what somebody else writes to the line is known by its first bytes. */
const MAGIC = Buffer.of(0xf5, 0xc7, 0x0c, 0x01);

const HEAD_BYTES = MAGIC.length + 4;

/** With this a structured clone begins; JSON never does. */
const CLONE_BEGINS = 0xff;

/**
 * A message as bytes: a mark, its length, then the structured clone, or JSON where the clone would be the same.
 * Throws `DataCloneError` for what cannot be copied.
 */
export function encodeFrame(message: unknown): Buffer<ArrayBuffer> {
  if (refuseForeign(message)) return encodeJson(JSON.stringify(message));
  const body = serialize(message);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + body.length);
  MAGIC.copy(frame);
  frame.writeUInt32LE(body.length, MAGIC.length);
  body.copy(frame, HEAD_BYTES);
  return frame;
}

function encodeJson(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes);
  MAGIC.copy(frame);
  frame.writeUInt32LE(bytes, MAGIC.length);
  frame.write(text, HEAD_BYTES);
  return frame;
}

/** Can this go between processes? */
export function canEncode(value: unknown): boolean {
  try {
    encodeFrame(value);
    return true;
  } catch {
    return false;
  }
}

/** Puts the pieces of a stream together again, whatever their borders. */
export class FrameReader {
  readonly #receive: (message: unknown) => void;
  readonly #broken: () => void;
  #isBroken = false;
  #pieces: Buffer[] = [];
  #held = 0;
  #wanted: number | null = null;

  /** @param broken what comes is no frame, since somebody else has written to the line: called once, and nothing more is read */
  constructor(receive: (message: unknown) => void, broken: () => void) {
    this.#receive = receive;
    this.#broken = broken;
  }

  add(piece: Buffer): void {
    if (this.#isBroken) return;
    this.#pieces.push(piece);
    this.#held += piece.length;
    while (this.#next());
  }

  /** Reads a head or a body; `false`: not all of it is there yet, or it never will be. */
  #next(): boolean {
    if (this.#wanted === null) return this.#head();
    if (this.#held < this.#wanted) return false;
    const body = this.#take(this.#wanted);
    this.#wanted = null;
    const message = readBody(body);
    if (message === NO_MESSAGE) return this.#break();
    this.#receive(message);
    return true;
  }

  #head(): boolean {
    const start = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
    if (start === undefined) return false;
    this.#pieces = [start];
    const mark = start.subarray(0, MAGIC.length);
    // Even one byte that is none of ours is enough: nothing may ever follow it.
    if (!mark.equals(MAGIC.subarray(0, mark.length))) return this.#break();
    if (this.#held < HEAD_BYTES) return false;
    this.#wanted = this.#take(HEAD_BYTES).readUInt32LE(MAGIC.length);
    return true;
  }

  #break(): false {
    this.#isBroken = true;
    this.#pieces = [];
    this.#broken();
    return false;
  }

  #take(bytes: number): Buffer {
    const all = this.#pieces.length === 1 ? this.#pieces[0] : undefined;
    const joined = all ?? Buffer.concat(this.#pieces);
    const rest = joined.subarray(bytes);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#held -= bytes;
    return joined.subarray(0, bytes);
  }
}

const NO_MESSAGE = Symbol("no message");

function readBody(body: Buffer): unknown {
  try {
    return body[0] === CLONE_BEGINS ? deserialize(body) : (JSON.parse(body.toString()) as unknown);
  } catch {
    return NO_MESSAGE;
  }
}
