import { errorsPage } from "./errors-page.ts";
import { eventsPage } from "./events-page.ts";
import { joinsPage } from "./joins-page.ts";
import { lifecyclePage } from "./lifecycle-page.ts";
import { recordsPage } from "./records-page.ts";

/** Every generated page: its path from the root of the repository, and its text. */
export function referencePages(): ReadonlyMap<string, string> {
  return new Map([
    ["docs/reference/lifecycle.md", lifecyclePage()],
    ["docs/reference/errors.md", errorsPage()],
    ["docs/reference/events.md", eventsPage()],
    ["docs/reference/joins.md", joinsPage()],
    ["docs/reference/records.md", recordsPage()],
  ]);
}
