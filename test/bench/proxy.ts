import { billsNote, measureBills } from "./proxy-bills.ts";
import { figuresNote, measureFigures } from "./proxy-figures.ts";
import { loadNote, measureLoad } from "./proxy-load.ts";
import { claudeNote, measureClaudeCode, measureStrict, strictNote } from "./proxy-strict.ts";
import { measureTimes, timesNote } from "./proxy-times.ts";
import type { Section, Table, Target } from "./section.ts";

interface Part {
	readonly name: string;
	readonly note: string;
	readonly measure: () => Promise<{ readonly tables: readonly Table[]; readonly targets: readonly Target[] }>;
}

const parts: readonly Part[] = [
	{ name: "times", note: timesNote, measure: measureTimes },
	{ name: "figures", note: figuresNote, measure: measureFigures },
	{ name: "strict", note: strictNote, measure: measureStrict },
	{ name: "claude", note: claudeNote, measure: measureClaudeCode },
	{ name: "load", note: loadNote, measure: measureLoad },
	{ name: "bills", note: billsNote, measure: measureBills },
];

/** What the proxy costs a request, whether it sends what it has sent, and what it saves in a session. */
export async function proxy(): Promise<Section> {
	const names = process.env.PROXY_PARTS?.split(",") ?? parts.map(({ name }) => name);
	const chosen = parts.filter(({ name }) => names.includes(name));
	const measured = [];
	for (const { measure } of chosen) measured.push(await measure());
	return {
		title: "Proxy",
		notes: chosen.map(({ note }) => note),
		tables: measured.flatMap(({ tables }) => tables),
		targets: measured.flatMap(({ targets }) => targets),
	};
}
