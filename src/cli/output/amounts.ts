import type { Progress } from "../../core/progress.ts";
import { cleanLine } from "./clean-text.ts";

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
// Never rounded up: 19,999 of 20,000 is not yet 20K.
const SHORT_NUMBER = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3, roundingMode: "trunc" });

/** How much room an amount may take: `147,321/200,000 rows`, `147K/200K rows`, `147K/200K`, `73%`. */
export type AmountForm = "full" | "short" | "bare" | "percent";

/** `1,234/5,000 rows`, as far as it is known; empty where nothing is. In percent only where there is a total. */
export function formatProgress(progress: Progress | null, form: AmountForm = "full"): string {
  if (progress === null || (progress.done === null && progress.total === null)) return "";
  const share = form === "percent" ? shareOf(progress) : null;
  if (share !== null) return `${Math.floor(share * 100)}%`;
  const number = form === "full" ? NUMBER : SHORT_NUMBER;
  const total = progress.total === null ? "" : `/${number.format(progress.total)}`;
  const unit = progress.unit === null || form === "bare" || form === "percent" ? "" : ` ${cleanLine(progress.unit, 30)}`;
  return `${number.format(progress.done ?? 0)}${total}${unit}`;
}

/** `1,234/s` or, short, `1.23K/s`; empty where it is not known. */
export function formatRate(perSecond: number | null, form: "full" | "short" = "full"): string {
  if (perSecond === null) return "";
  const shown = perSecond >= 10 ? Math.round(perSecond) : perSecond;
  return `${(form === "full" ? NUMBER : SHORT_NUMBER).format(shown)}/s`;
}

/** How much is done, from 0 to 1; `null` where there is no total to compare with. */
export function shareOf(progress: Progress | null): number | null {
  if (progress === null || progress.total === null || progress.total <= 0) return null;
  return Math.min(1, Math.max(0, (progress.done ?? 0) / progress.total));
}
