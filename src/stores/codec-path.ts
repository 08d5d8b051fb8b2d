/** One step into a value: an index, a key, or a note for what has no key, such as a member of a Set. */
export type PathStep = number | string | { readonly note: string };

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const SHOWN_AT_HEAD = 9;
const SHOWN_AT_TAIL = 3;
const SHOWN_KEY_LENGTH = 60;

/** `args[0].rows[3].fn`; a very long path is shown without its middle. */
export function formatPath(root: string, steps: readonly PathStep[]): string {
  const hidden = steps.length - SHOWN_AT_HEAD - SHOWN_AT_TAIL;
  if (hidden <= 1) {
    return root + steps.map(formatStep).join("");
  }
  const head = steps.slice(0, SHOWN_AT_HEAD).map(formatStep).join("");
  return `${root}${head} … ${hidden} more … ${steps.slice(-SHOWN_AT_TAIL).map(formatStep).join("")}`;
}

/** The step into one side of a Map's entry; a key that is an object is told by its position. */
export function mapStep(side: "key" | "value", key: unknown, index: number): PathStep {
  if ((typeof key === "object" && key !== null) || typeof key === "function") {
    return { note: `Map ${side} of entry ${index}` };
  }
  return { note: `Map ${side} ${typeof key === "string" ? quote(key) : String(key)}` };
}

function formatStep(step: PathStep): string {
  if (typeof step === "number") {
    return `[${step}]`;
  }
  if (typeof step === "object") {
    return `.<${step.note}>`;
  }
  return IDENTIFIER.test(step) && step.length <= SHOWN_KEY_LENGTH ? `.${step}` : `[${quote(step)}]`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN_KEY_LENGTH ? `${text.slice(0, SHOWN_KEY_LENGTH)}…` : text);
}
