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

// No process.exit here: it would cut off what stdout still has to write to a pipe.
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
