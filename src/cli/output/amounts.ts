import type { Progress } from "../../core/progress.ts";
import { cleanLine } from "./clean-text.ts";

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** `1,234/5,000 rows`, as far as it is known; empty where nothing is. */
export function formatProgress(progress: Progress | null): string {
  if (progress === null || (progress.done === null && progress.total === null)) return "";
  const done = NUMBER.format(progress.done ?? 0);
  const total = progress.total === null ? "" : `/${NUMBER.format(progress.total)}`;
  const unit = progress.unit === null ? "" : ` ${cleanLine(progress.unit, 30)}`;
  return `${done}${total}${unit}`;
}

/** `1,234/s`; empty where it is not known. */
export function formatRate(perSecond: number | null): string {
  if (perSecond === null) return "";
  return `${NUMBER.format(perSecond >= 10 ? Math.round(perSecond) : perSecond)}/s`;
}

/** How much is done, from 0 to 1; `null` where there is no total to compare with. */
export function shareOf(progress: Progress | null): number | null {
  if (progress === null || progress.total === null || progress.total <= 0) return null;
  return Math.min(1, Math.max(0, (progress.done ?? 0) / progress.total));
}
