"use strict";

// Compiled code is kept between starts: it halves what ours costs.
require("node:module").enableCompileCache?.();

// The one warning that a user of Node 22 can do nothing about; every other goes through.
const emitWarning = process.emitWarning;
process.emitWarning = function emitWarningButSqlite(warning, ...rest) {
  const text = typeof warning === "string" ? warning : warning.message;
  const type = typeof rest[0] === "string" ? rest[0] : (rest[0]?.type ?? warning.name);
  if (type === "ExperimentalWarning" && text.startsWith("SQLite ")) return;
  emitWarning.call(process, warning, ...rest);
};

if (require("node:fs").existsSync(require("node:path").join(__dirname, "../dist/cli/main.js"))) start();
else {
  // A clone of the repository, where nothing has been compiled.
  process.stderr.write("chongming is not built here: run npm run build\n");
  process.exitCode = 2;
}

// No process.exit here: it would cut off what stdout still has to write to a pipe.
function start() {
  import("../dist/cli/main.js")
    .then((cli) => cli.main(process.argv.slice(2)))
    .then(
      (exitCode) => {
        process.exitCode = exitCode;
      },
      (error) => {
        console.error(error);
        process.exitCode = 70;
      },
    );
}
