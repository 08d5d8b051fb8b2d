import type { AmountForm } from "./amounts.ts";

/** How much of a node's line there is room for. */
export interface NodeForm {
  /** Columns that a name may take at least, where it needs them. */
  readonly name: number;
  /** Columns of the bar; 0: none. */
  readonly bar: number;
  readonly status: "aligned" | "tight" | "none";
  readonly amount: AmountForm | "none";
  readonly rate: "full" | "short" | "none";
  readonly eta: boolean;
  /** How the items of a map stand. */
  readonly tally: boolean;
  /** `short`: only from the second attempt on. */
  readonly attempt: "full" | "short" | "none";
  readonly elapsed: boolean;
}

/** More of a name is not shown. */
export const LONGEST_NAME = 40;
/** The bar where there is room. */
export const LONGEST_BAR = 10;

const FULL: NodeForm = {
  name: LONGEST_NAME,
  bar: LONGEST_BAR,
  status: "aligned",
  amount: "full",
  rate: "full",
  eta: true,
  tally: true,
  attempt: "full",
  elapsed: true,
};

/** What gives way as the terminal gets narrower, in this order: the bar first, and the name never below what tells nodes apart. */
const STEPS: readonly Partial<NodeForm>[] = [
  { bar: 4 },
  { attempt: "short", amount: "short", rate: "short" },
  { status: "tight" },
  { name: 20 },
  { amount: "bare" },
  { attempt: "none" },
  { amount: "percent" },
  { name: 14 },
  { bar: 0 },
  { rate: "none" },
  { name: 10 },
  { eta: false },
  { amount: "none" },
  { tally: false },
  { name: 8 },
  { status: "none" },
  { elapsed: false },
];

/** The richest form that fits; the poorest where none does. */
export function chooseForm(fits: (form: NodeForm) => boolean): NodeForm {
  let form = FULL;
  for (const step of STEPS) {
    if (fits(form)) return form;
    form = { ...form, ...step };
  }
  return form;
}
