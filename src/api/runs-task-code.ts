import { taskScope } from "../runtime/task-scope.ts";

/** Does the code now on the stack belong to a task of this process? What it lets escape is recorded there. */
export function runsTaskCode(): boolean {
  return taskScope.getStore() !== undefined;
}
