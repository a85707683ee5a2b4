import { benches } from "./benches.ts";
import { installPeers } from "./install-peers.ts";
import { runChild } from "./run-child.ts";
import { progress, type Section } from "./section.ts";
import { writeDocument } from "./write-document.ts";
import { writeSection } from "./write-table.ts";

// `npm run bench` runs all and writes docs/evidence.md; with names behind it, it runs those and only prints.
const asked = process.argv.slice(2);
const known = benches.map(({ name }) => name);
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`Unknown benchmark: ${unknown.join(", ")}. Known: ${known.join(", ")}.`);

const chosen = benches.filter(({ name }) => asked.length === 0 || asked.includes(name));
if (!chosen.every(({ needsNoPeers }) => needsNoPeers)) installPeers();
const started = performance.now();
const sections: Section[] = [];
for (const name of asked.length > 0 ? asked : known) {
	progress(`# ${name}`);
	const section = await runChild<Section>("run-one.ts", [name]);
	process.stdout.write(`${writeSection(section)}\n\n`);
	for (const { what, wanted, measured, met } of section.targets) {
		progress(`${met ? "met   " : "MISSED"} ${what}: target ${wanted}, ${measured}`);
	}
	sections.push(section);
}
if (asked.length === 0) writeDocument(sections);
progress(`Done in ${Math.round((performance.now() - started) / 1000)} s.`);
