import { fileURLToPath } from "node:url";
import { checkDependencies } from "./gates/dependency-gate.ts";
import { checkCorePurity } from "./gates/purity-gate.ts";

const root = process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url));

const dependencies = await checkDependencies(root);
const violations = [...dependencies.violations, ...(await checkCorePurity(root))];
for (const { file, message } of violations) console.error(`${file}: ${message}`);
console.log(`gates: ${dependencies.modules} modules, ${violations.length} violations`);
process.exitCode = violations.length === 0 ? 0 : 1;
