import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { peerVersions } from "./install-peers.ts";
import { projectFolder } from "./project-folder.ts";
import type { Section, Table } from "./section.ts";
import { writeSection, writeTargets } from "./write-table.ts";

const document = `${projectFolder}/docs/evidence.md`;
const begin = "<!-- written by `npm run bench`: begin -->";
const end = "<!-- written by `npm run bench`: end -->";

/** Targets that a user notices. They stand on the page also where they are met. */
const noticed = new RegExp(
	[
		"(?:mask|guard) of 1 MB",
		"guard of 10 MB",
		"peak memory, 50 MB, command: guard, answers edits",
		"cold start to the first tools/list, legacy",
		"proxy: added to the first byte",
		"proxy, strict, Claude Code: wrong ends",
		"recorded: (?:wrong answers|memory)",
		"ping p99 while 20 MB",
	]
		.map((start) => `^${start}`)
		.join("|"),
);

/** Puts what was measured between the marks of docs/evidence.md; the words around them are written by hand. */
export function writeDocument(sections: readonly Section[]): void {
	const text = readFileSync(document, "utf8");
	const from = text.indexOf(begin);
	const to = text.indexOf(end);
	if (from < 0 || to < from) throw new Error(`Expected ${document} to hold the marks ${begin} and ${end}.`);
	const targets = sections.flatMap((section) => section.targets);
	const met = targets.filter((target) => target.met).length;
	const parts = [
		begin,
		describeRun(),
		"### What must hold",
		`${met} of ${targets.length} hold in this run. Here are those that do not, and those that a user notices; the command prints all.`,
		writeTargets(targets.filter(({ what, met }) => !met || noticed.test(what))),
		...sections.flatMap((section) => {
			const tables = section.tables.flatMap(published);
			return tables.length > 0 ? [`#${writeSection({ ...section, tables, targets: [] })}`] : [];
		}),
		"",
	];
	writeFileSync(document, text.slice(0, from) + parts.join("\n\n") + text.slice(to));
}

/** The table as it stands on the page, if it does. */
function published({ isPublished, columns, rows, ...table }: Table): Table[] {
	if (!isPublished) return [];
	const { without } = isPublished === true ? { without: [] } : isPublished;
	const shown = <Cell>(cells: readonly Cell[]) => cells.filter((_, index) => !without.includes(columns[index] ?? ""));
	return [{ ...table, columns: shown(columns), rows: rows.map(shown) }];
}

/** Machine, versions and date of a run. */
function describeRun(): string {
	const product = JSON.parse(readFileSync(`${projectFolder}/package.json`, "utf8"));
	const of = { ...product.dependencies, ...peerVersions() };
	const versions = ["@modelcontextprotocol/sdk", "gpt-tokenizer", ...Object.keys(peerVersions())];
	const memory = Math.round(totalmem() / 2 ** 30);
	const processors = cpus();
	return [
		`Measured on ${new Date().toISOString().slice(0, 10)} with palimpsest-mcp ${product.version}, Node ${process.versions.node} (V8 ${process.versions.v8}), ${process.platform} ${process.arch}, ${processors.length} × ${processors[0]?.model.trim()}, ${memory} GB.`,
		`Compared with: ${versions.map((name) => `${name} ${of[name]}`).join(", ")}.`,
	].join("\n");
}
