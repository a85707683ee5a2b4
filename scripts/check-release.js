// Looks whether everything that carries the version carries the same one, and whether it is that of the tag, if one is given:
// node scripts/check-release.js v0.1.0
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [tag = "", folder = fileURLToPath(new URL("..", import.meta.url))] = process.argv.slice(2);
const text = (name) => readFileSync(join(resolve(folder), name), "utf8");
const json = (name) => JSON.parse(text(name));

const { version } = json("package.json");
const server = json("server.json");
const carriers = {
	"package-lock.json": json("package-lock.json").version,
	"server.json": server.version,
	"server.json, packages": server.packages[0].version,
	".claude-plugin/marketplace.json": json(".claude-plugin/marketplace.json").plugins[0].version,
	"plugins/claude-code/.claude-plugin/plugin.json": json("plugins/claude-code/.claude-plugin/plugin.json").version,
	"plugins/codex/.codex-plugin/plugin.json": json("plugins/codex/.codex-plugin/plugin.json").version,
	"plugins/cursor/.cursor-plugin/plugin.json": json("plugins/cursor/.cursor-plugin/plugin.json").version,
	"plugins/gemini-cli/gemini-extension.json": json("plugins/gemini-cli/gemini-extension.json").version,
	...(tag && { "the tag": tag.replace(/^v/, "") }),
};
const problems = Object.entries(carriers)
	.filter(([, found]) => found !== version)
	.map(([name, found]) => `${name}: expected ${version}, as in package.json; got ${found || "nothing"}`);
if (tag && !text("CHANGELOG.md").includes(`## ${version}`) && !text("CHANGELOG.md").includes(`## [${version}]`)) {
	problems.push(`CHANGELOG.md: expected a section "## ${version}"; rename "## Unreleased"`);
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(problems.length === 0 ? `${version}: the same in ${Object.keys(carriers).length} places\n` : "");
process.exitCode = problems.length === 0 ? 0 : 1;
