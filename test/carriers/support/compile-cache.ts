import { join } from "node:path";

// Hundreds of children load the same few modules: with this they need not compile them each time anew.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "../../../node_modules/.cache/node-compile");
