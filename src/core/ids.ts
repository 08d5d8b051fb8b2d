import { InternalError } from "./errors.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_BYTES = 10;
const ID_LENGTH = 16;
const SHORT_LENGTH = 8;
const BITS_PER_CHARACTER = 5;

/**
 * A new id: 80 random bits as 16 characters of lower-case Crockford base 32 (no i, l, o, u).
 * @param randomBytes cryptographic randomness, `n` bytes of it
 * @throws InternalError when the source gives another number of bytes
 */
export function createId(randomBytes: (n: number) => Uint8Array): string {
  const bytes = randomBytes(ID_BYTES);
  if (bytes.length !== ID_BYTES) throw new InternalError(`the source of randomness gave ${bytes.length} bytes instead of ${ID_BYTES}.`);
  let text = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff; // at most 4 bits are left over from the byte before
    bits += 8;
    while (bits >= BITS_PER_CHARACTER) {
      bits -= BITS_PER_CHARACTER;
      text += ALPHABET.charAt((buffer >> bits) & 31);
    }
  }
  return text;
}

/** Is it a whole id, as `createId` writes it? */
export function isId(text: string): boolean {
  return /^[0-9a-hjkmnp-tv-z]{16}$/.test(text);
}

/** The part of an id that people see: its first 8 characters. */
export function shortId(id: string): string {
  return id.slice(0, SHORT_LENGTH);
}

/**
 * Reads a whole id as a person may have typed it: case, spaces around it, and Crockford's look-alikes
 * (`o` for `0`, `i` and `l` for `1`) are forgiven. `undefined`: it cannot be an id.
 */
export function parseId(text: string): string | undefined {
  const id = parseIdPrefix(text);
  return id?.length === ID_LENGTH ? id : undefined;
}

/**
 * Reads the beginning of an id (1 to 16 characters) as a person may have typed it; the answer can be given
 * to `startsWith`. `undefined`: no id begins like that.
 */
export function parseIdPrefix(text: string): string | undefined {
  const typed = text.trim().toLowerCase();
  const prefix = typed.replaceAll("o", "0").replaceAll(/[il]/g, "1");
  return /^[0-9a-hjkmnp-tv-z]{1,16}$/.test(prefix) ? prefix : undefined;
}
