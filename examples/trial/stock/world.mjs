import { mkdirSync, writeFileSync } from "node:fs";
import { startRandom } from "../random.mjs";

const warehouses = "Ashby Brook Carrow Dunmore Elling Fenwick Garth Holm Ivel Kerr".split(" ");
const asked = ["copper wire", "brass screws", "oak boards"];
const others = [
	...["steel nails", "pine boards", "copper pipe", "brass hinges", "oak panels"],
	...["iron wire", "glass panes", "clay tiles", "zinc sheets", "hemp rope"],
];
const shelves = 60;

const { below, pick, shuffled } = startRandom(1128);
const reports = Object.fromEntries(warehouses.map((name) => [name, []]));

/** Crates by goods that are asked for. */
export const totals = Object.fromEntries(asked.map((goods) => [goods, 0]));

const counted = [];
for (const [index, warehouse] of warehouses.entries()) {
	for (let shelf = 1; shelf <= shelves; shelf += 1) {
		// Three shelves of a report hold what is asked for.
		const isAsked = shelf % 20 === index;
		const goods = pick(isAsked ? asked : others);
		const [crates, damaged] = [10 + below(30), below(3)];
		const name = `${pick("ABCD")}-${String(shelf).padStart(2, "0")}`;
		counted.push({ warehouse, name, goods });
		if (isAsked) totals[goods] += crates - damaged;
		const broken = damaged === 0 ? "" : `, ${damaged} of them damaged`;
		reports[warehouse].push(`${opening(name)} ${crates} crates of ${goods}${broken}. ${remark()}`);
	}
}

// Which of the corrections count shows in the report of the shelf.
const asksFor = ({ goods }) => goods in totals;
const corrected = [
	...shuffled(counted.filter(asksFor)).slice(0, 8),
	...shuffled(counted.filter((one) => !asksFor(one))).slice(0, 40),
];
for (const { warehouse, name, goods } of shuffled(corrected)) {
	const by = 1 + below(8);
	const isMore = below(2) === 0;
	if (goods in totals) totals[goods] += isMore ? by : -by;
	const report = reports[pick(warehouses.filter((one) => one !== warehouse))];
	const change = `${by} sound crates ${isMore ? "more" : "fewer"} than it says`;
	report.splice(
		below(report.length),
		0,
		`Correction to the report of ${warehouse}: shelf ${name} holds ${change}. ${remark()}`,
	);
}

export function writeTree() {
	mkdirSync("reports");
	for (const [name, texts] of Object.entries(reports)) {
		writeFileSync(`reports/${name.toLowerCase()}.md`, `# Stock of ${name}\n\n${texts.join("\n\n")}\n`);
	}
}

function opening(name) {
	return pick([`On shelf ${name} we counted`, `Shelf ${name} holds`, `We found on shelf ${name}`]);
}

function remark() {
	const labels = [
		"The labels were easy to read",
		"Two of us counted",
		"The lamp above it is broken",
		"We counted before noon",
	];
	const lists = ["the list of last year agrees", "nobody had moved anything since spring", "the aisle was swept first"];
	const ends = ["The driver signed the slip.", "A copy went to the office.", "The next count is due in May."];
	return `${pick(labels)}, and ${pick(lists)}. ${pick(ends)}`;
}
