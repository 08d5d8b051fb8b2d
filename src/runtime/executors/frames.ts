import { deserialize, serialize } from "node:v8";

const HEAD_BYTES = 4;

/** A message as bytes: its length, then the structured clone. Throws `DataCloneError` for what cannot be copied. */
export function encodeFrame(message: unknown): Buffer {
  const body = serialize(message);
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  head.writeUInt32LE(body.length);
  return Buffer.concat([head, body]);
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
    for (;;) {
      if (this.#wanted === null) {
        if (this.#held < HEAD_BYTES) return;
        this.#wanted = this.#take(HEAD_BYTES).readUInt32LE();
      }
      if (this.#held < this.#wanted) return;
      const body = this.#take(this.#wanted);
      this.#wanted = null;
      const message = readBody(body);
      if (message === NO_MESSAGE) {
        this.#isBroken = true;
        this.#pieces = [];
        this.#broken();
        return;
      }
      this.#receive(message);
    }
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
    return deserialize(body);
  } catch {
    return NO_MESSAGE;
  }
}
