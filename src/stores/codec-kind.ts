import { types } from "node:util";

/** The usual ones, so that nearly every question ends at one comparison. */
const PROTOTYPES_HERE: ReadonlyMap<string, object> = new Map<string, object>([
  ["Object", Object.prototype],
  ["Array", Array.prototype],
  ["Date", Date.prototype],
  ["Map", Map.prototype],
  ["Set", Set.prototype],
]);

/**
 * Is the value made by this built-in constructor itself, of any realm, and not by a subclass?
 * The internal slots are for the caller to check: this looks at the prototype only.
 */
export function isMadeBy(value: object, constructorName: string): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== "object" || prototype === null) {
    return false;
  }
  if (prototype === PROTOTYPES_HERE.get(constructorName)) {
    return true;
  }
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  return typeof maker === "function" && Function.prototype.toString.call(maker) === `function ${constructorName}() { [native code] }`;
}

/** An object literal of any realm, or an object without a prototype. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || (isMadeBy(value, "Object") && Object.getPrototypeOf(prototype) === null);
}

/** Any Error of any realm, subclasses and DOMException included. */
export function isError(value: object): boolean {
  return types.isNativeError(value) || value instanceof Error;
}

/** Why an object that is none of the known kinds cannot be stored, and what to do about it. */
export function explainRefused(value: object): string {
  if (types.isPromise(value)) {
    return "is a Promise. Await it first and pass what it gives.";
  }
  if (types.isBoxedPrimitive(value)) {
    return "is a primitive boxed in an object. Pass the bare value: call its valueOf().";
  }
  const name = classNameOf(value);
  const what = name === null ? "is an object with a prototype of its own" : `is an instance of ${name}`;
  const advice =
    "toJSON" in value
      ? "Call its toJSON() yourself and pass the result: it would not come back as what it was."
      : "Pass the plain data it holds and build it anew inside the task.";
  return `${what}. ${advice}`;
}

function classNameOf(value: object): string | null {
  const maker: unknown = Reflect.get(value, "constructor");
  const name: unknown = typeof maker === "function" ? Reflect.get(maker, "name") : null;
  return typeof name === "string" && name !== "" && name !== "Object" ? name : null;
}
