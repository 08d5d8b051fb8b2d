import { types } from "node:util";
import { ConfigurationError } from "../core/errors.ts";
import type { BinaryName, TagName } from "./codec-format.ts";
import { BINARY_NAMES, ERROR_FIELDS, MAX_DEPTH, TAG, UNDEFINED_TEXT } from "./codec-format.ts";
import { explainRefused, isError, isMadeBy, isPlainObject } from "./codec-kind.ts";
import type { PathStep } from "./codec-path.ts";
import { formatPath, mapStep } from "./codec-path.ts";

/** Thrown inside the codec when a text grows beyond what is worth measuring. */
export class TextTooLong extends Error {}

/** Writes one value as JSON with tags, reading everything once, and names the place of what cannot be stored. */
export class ValueWriter {
  readonly #root: string;
  readonly #capUnits: number;
  /** `#path` has one step for each of `#ancestors`, so that a cycle can name both of its ends. */
  readonly #path: PathStep[] = [];
  readonly #ancestors: object[] = [];
  #text = "";

  /** @param capUnits longest text, in UTF-16 units; beyond it `write` throws `TextTooLong` */
  constructor(root: string, capUnits: number) {
    this.#root = root;
    this.#capUnits = capUnits;
  }

  /** @throws ConfigurationError naming the path of what cannot be stored */
  write(value: unknown): string {
    this.#value(value);
    return this.#text;
  }

  #emit(text: string): void {
    this.#text += text;
    if (this.#text.length > this.#capUnits) {
      throw new TextTooLong();
    }
  }

  #value(value: unknown): void {
    switch (typeof value) {
      case "string":
        return this.#emit(stringText(value));
      case "number":
        return this.#emit(numberText(value));
      case "boolean":
        return this.#emit(String(value));
      case "undefined":
        return this.#emit(UNDEFINED_TEXT);
      case "bigint":
        return this.#emit(scalarText("bigint", String(value)));
      case "function":
        return this.#refuse("is a function. Pass the data it needs, and import the function where the task is defined.");
      case "object":
        return value === null ? this.#emit("null") : this.#object(value);
      case "symbol":
        return this.#refuse("is a symbol. Pass a string.");
    }
  }

  #object(value: object): void {
    const start = this.#ancestors.indexOf(value);
    if (start >= 0) {
      return this.#refuse(`refers back to ${formatPath(this.#root, this.#path.slice(0, start))}: a cycle. Refer to it by an id.`);
    }
    if (this.#ancestors.length >= MAX_DEPTH) {
      return this.#refuse(`lies more than ${MAX_DEPTH} levels deep. Make the data flatter, a list with ids for instance.`);
    }
    const write = this.#read(() => this.#writerOf(value));
    this.#ancestors.push(value);
    write();
    this.#ancestors.pop();
  }

  /** Looks at the value and answers with what will write it: proxies and getters may throw while it is looked at. */
  #writerOf(value: object): () => void {
    if (isError(value)) {
      return () => this.#error(value);
    }
    const write = this.#dataWriterOf(value);
    if (write === null) {
      return this.#refuserOf(explainRefused(value));
    }
    const symbol = Object.getOwnPropertySymbols(value).find((key) => Object.prototype.propertyIsEnumerable.call(value, key));
    return symbol === undefined ? write : this.#refuserOf(`has a symbol for a key, ${String(symbol)}. Use strings.`);
  }

  #dataWriterOf(value: object): (() => void) | null {
    if (Array.isArray(value)) {
      const { length } = value;
      return isMadeBy(value, "Array") ? () => this.#array(value, length) : null;
    }
    if (isPlainObject(value)) {
      const keys = Object.keys(value);
      return () => this.#fields(value, keys);
    }
    return this.#binaryWriterOf(value) ?? this.#builtInWriterOf(value);
  }

  #binaryWriterOf(value: object): (() => void) | null {
    if (types.isArrayBuffer(value) && isMadeBy(value, "ArrayBuffer")) {
      return () => this.#bytes("ArrayBuffer", value, 0, value.byteLength);
    }
    if (!ArrayBuffer.isView(value)) {
      return null;
    }
    const isBuffer = Object.getPrototypeOf(value) === Buffer.prototype;
    const name = isBuffer ? "Buffer" : BINARY_NAMES.find((known) => isMadeBy(value, known));
    return name === undefined ? null : () => this.#bytes(name, value.buffer, value.byteOffset, value.byteLength);
  }

  #builtInWriterOf(value: object): (() => void) | null {
    const write = this.#builtIn(value);
    const extra = write === null ? undefined : Object.keys(value)[0];
    return extra === undefined ? write : this.#refuserOf(`is a built-in object with a property of its own, ${JSON.stringify(extra)}. Pass that apart.`);
  }

  #builtIn(value: object): (() => void) | null {
    if (types.isDate(value) && isMadeBy(value, "Date")) {
      const isValid = !Number.isNaN(value.getTime());
      return () => this.#emit(scalarText("Date", isValid ? value.toISOString() : null));
    }
    if (types.isMap(value) && isMadeBy(value, "Map")) {
      return () => this.#map(value);
    }
    if (types.isSet(value) && isMadeBy(value, "Set")) {
      return () => this.#set(value);
    }
    if (types.isRegExp(value) && isMadeBy(value, "RegExp")) {
      return () => this.#emit(`{"${TAG}":"RegExp","source":${stringText(value.source)},"flags":"${value.flags}"}`);
    }
    if (value instanceof URL && Object.getPrototypeOf(value) === URL.prototype) {
      const { href } = value;
      return () => this.#emit(scalarText("URL", href));
    }
    return null;
  }

  #array(value: readonly unknown[], length: number): void {
    this.#emit("[");
    for (let index = 0; index < length; index += 1) {
      this.#emit(index === 0 ? "" : ",");
      this.#at(index, () => value[index]);
    }
    this.#emit("]");
  }

  /** A JSON object where the keys allow it; pairs where one looks like the tag or cannot stand in every database. */
  #fields(source: object, keys: readonly string[]): void {
    const asPairs = keys.some((key) => key === TAG || isUnsafe(key));
    this.#emit(asPairs ? `{"${TAG}":"object","entries":[` : "{");
    for (const [index, key] of keys.entries()) {
      this.#emit(`${index === 0 ? "" : ","}${asPairs ? `[${stringText(key)},` : `${JSON.stringify(key)}:`}`);
      this.#at(key, () => Reflect.get(source, key));
      this.#emit(asPairs ? "]" : "");
    }
    this.#emit(asPairs ? "]}" : "}");
  }

  #map(value: ReadonlyMap<unknown, unknown>): void {
    let index = 0;
    this.#emit(`{"${TAG}":"Map","value":[`);
    for (const [key, item] of value) {
      this.#emit(index === 0 ? "[" : ",[");
      this.#at(mapStep("key", key, index), () => key);
      this.#emit(",");
      this.#at(mapStep("value", key, index), () => item);
      this.#emit("]");
      index += 1;
    }
    this.#emit("]}");
  }

  #set(value: ReadonlySet<unknown>): void {
    let index = 0;
    this.#emit(`{"${TAG}":"Set","value":[`);
    for (const item of value) {
      this.#emit(index === 0 ? "" : ",");
      this.#at({ note: `Set item ${index}` }, () => item);
      index += 1;
    }
    this.#emit("]}");
  }

  #error(value: object): void {
    this.#emit(`{"${TAG}":"Error"`);
    for (const field of ERROR_FIELDS) {
      if (this.#read(() => hasErrorField(value, field))) {
        this.#emit(`,"${field}":`);
        this.#at(field, () => Reflect.get(value, field));
      }
    }
    const keys = this.#read(() => Object.keys(value)).filter((key) => !ERROR_FIELDS.includes(key));
    if (keys.length > 0) {
      this.#emit(',"props":');
      this.#fields(value, keys);
    }
    this.#emit("}");
  }

  #bytes(name: BinaryName, buffer: ArrayBufferLike, offset: number, length: number): void {
    if ((length * 4) / 3 > this.#capUnits) {
      throw new TextTooLong();
    }
    const bytes = this.#read(() => Buffer.from(buffer, offset, length)); // throws where the buffer was transferred away
    this.#emit(scalarText(name, bytes.toString("base64")));
  }

  #at(step: PathStep, read: () => unknown): void {
    this.#path.push(step);
    this.#value(this.#read(read));
    this.#path.pop();
  }

  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      return this.#refuse("could not be read: its getter or proxy threw. Pass plain data.", { cause });
    }
  }

  #refuserOf(reason: string): () => never {
    return () => this.#refuse(reason);
  }

  #refuse(reason: string, options?: { readonly cause: unknown }): never {
    throw new ConfigurationError(`${formatPath(this.#root, this.#path)} cannot be stored: it ${reason}`, options);
  }
}

function scalarText(tag: TagName, value: string | null): string {
  return `{"${TAG}":"${tag}","value":${JSON.stringify(value)}}`;
}

/** A stack may be missing, or be whatever a program's own `prepareStackTrace` made of it. */
function hasErrorField(error: object, field: string): boolean {
  if (field === "stack") {
    return typeof Reflect.get(error, field) === "string";
  }
  return field === "name" || field === "message" || Object.hasOwn(error, field);
}

function numberText(value: number): string {
  if (Object.is(value, -0)) {
    return scalarText("number", "-0");
  }
  return Number.isFinite(value) ? String(value) : scalarText("number", String(value));
}

/** PostgreSQL's `jsonb` refuses U+0000 and lone surrogates, even escaped: such a text is escaped once more. */
function stringText(value: string): string {
  const quoted = JSON.stringify(value);
  return quoted.includes("\\u") && isUnsafe(value) ? scalarText("string", quoted.slice(1, -1)) : quoted;
}

function isUnsafe(text: string): boolean {
  return text.includes("\0") || !text.isWellFormed();
}
