import { closeSync, openSync } from "node:fs";
import { ProcessLink } from "../../../../src/runtime/executors/process-link.ts";
import { systemClock } from "../../../../src/runtime/system-clock.ts";

// Run by itself with a low `ulimit -n`: starts a child where no file descriptor is left, and prints how that went.
const taken: number[] = [];
try {
  for (;;) taken.push(openSync("/dev/null", "r"));
} catch {
  // All are taken.
}
const link = new ProcessLink(systemClock, { execArgv: [] });
link.listener = {
  message: () => {},
  exited: (exit) => {
    for (const descriptor of taken) closeSync(descriptor);
    console.log(JSON.stringify({ ...exit, alive: link.alive }));
  },
};
link.hold();
link.post({ type: "load", tasks: [] });
