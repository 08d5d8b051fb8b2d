/**
 * What differs between platforms. POSIX: a child leads a process group of its own, and a signal to the group
 * reaches its descendants. Windows: best effort and untested; there are no groups, so descendants may stay, and
 * every signal ends the process at once. Source §8.3.
 */
export const HAS_GROUPS = process.platform !== "win32";

/** Whether a process is there. "Not permitted" means that it is: it belongs to somebody else. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** Signals the child's whole group while the child is known to live. */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  send(HAS_GROUPS ? -pid : pid, signal);
}

/**
 * Ends what is left of the group of a child that is gone. A process that has the child's number now is somebody
 * else's: then the number was given away, the group is gone too, and nothing is signalled.
 */
export function endOrphanedGroup(pid: number): void {
  if (HAS_GROUPS && !processExists(pid)) send(-pid, "SIGKILL");
}

function send(target: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    // Gone already, which is what was wanted. Anything else is a fault of ours.
    if (codeOf(error) !== "ESRCH" && codeOf(error) !== "EPERM") throw error;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
