#!/usr/bin/env node
// Any Node can parse this file (ES5 and no `import`), so that an old one gets an answer, not a syntax error.
"use strict";

var found = process.versions.node.split(".");
var major = Number(found[0]);
var minor = Number(found[1]);

if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write("chongming needs Node 22.18 or later; this is Node " + process.versions.node + ".\n");
  process.exitCode = 2;
  // Before 0.11.8 exitCode means nothing; there is no other output to lose.
  if (major === 0) process.exit(2);
} else {
  require("./start.cjs");
}
