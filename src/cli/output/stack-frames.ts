import { cleanText } from "./clean-text.ts";

/** Our own code, as stacks name it. */
const PACKAGE_CODE = new URL("../..", import.meta.url).pathname;

/**
 * The frames of a stack, `at …` each, safe to show.
 * @param whose `user`: without those of Node and of this package
 */
export function stackFrames(stack: string | null, whose: "all" | "user"): readonly string[] {
  const frames = cleanText(stack ?? "", 20_000)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "));
  return whose === "all" ? frames : frames.filter(isOfUser);
}

/**
 * The message of a `loop_stalled` warning, `…, at f (place) < g (place). …`, without the frames of Node and of this
 * package; as it is where no frame is the user's.
 */
export function userStall(message: string): string {
  const parts = message.split(" < ");
  const [first = "", ...callers] = parts;
  const last = callers.at(-1);
  if (last === undefined) return message;
  // The last frame is followed by the advice.
  const end = last.slice(last.indexOf(")") + 1);
  const frames = [first.slice(first.indexOf(", at ") + 5), ...callers.slice(0, -1), last.slice(0, last.length - end.length)].filter(isOfUser);
  return frames.length === 0 ? message : `${first.slice(0, first.indexOf(", at ") + 5)}${frames.join(" < ")}${end}`;
}

function isOfUser(frame: string): boolean {
  return !frame.includes(PACKAGE_CODE) && !/[( ]node:|[\\/]commander[\\/]/.test(frame);
}
