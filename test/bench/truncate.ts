import { existsSync, readdirSync, readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { kinds } from "../engine/truncation/recall-cases.ts";
import { isJson } from "../support/is-json.ts";
import { gapClosed, measureShares, recallBudgets, recallSet } from "../support/recall-set.ts";
import { exactCount } from "./exact-counter.ts";
import { timeOnce } from "./measure-interleaved.ts";
import { projectFolder } from "./project-folder.ts";
import { atMost, duration, progress, type Section, short, type Table, type Target } from "./section.ts";
import { median } from "./statistics.ts";
import { type TruncateContender, truncateContenders } from "./truncate-contenders.ts";
import { hardOutputs } from "./truncate-hard-outputs.ts";

const dataFolder = `${projectFolder}/../shared/data`;
const largeTokens = 2_000;
/** How test runners and tools begin the line of a failure: written apart from the rules of the product. */
const failure =
	/^(?:FAILED |ERROR |FAIL: |ERROR: |FAIL |not ok |E {3}\S|(?:×|✗) |❯ .*\bfailed\b|AssertionError|\w+Error: |npm ERR! |npm error |fatal: |.*\*\*\* |--- FAIL)/;
/** Characters in which failures are looked for: some 2 000 tokens. */
const failureChars = 8_000;
const slopeChars = 4_000;
const rounds = 3;

/** What is kept of real outputs beside what peers keep, and the time that hard ones take. */
export async function truncate(): Promise<Section> {
	const contenders = await truncateContenders();
	const slope = slopeTable(contenders[0] as TruncateContender);
	const hasData = existsSync(dataFolder);
	const tables = hasData ? [await recallTable(contenders), ...(await promiseTables(contenders))] : [];
	return {
		title: "Truncation",
		notes: [
			"Every contender gets the same number of characters (pi: bytes). Recall is the share of later used identifiers and whole lines of a large result that the shortened result still contains. In brackets: the share of the gap between head and tail and the clairvoyant bound that is closed.",
			hasData ? "" : "Without the real outputs, which are not part of the repository, only times were measured.",
		].filter((note) => note !== ""),
		tables: [...tables, slope.table],
		targets: [slope.target],
	};
}

async function recallTable(contenders: readonly TruncateContender[]): Promise<Table> {
	const items = await recallSet(largeTokens, { folder: dataFolder, count: exactCount });
	const cases = items.map(({ found }) => found);
	const columns = recallBudgets.flatMap((budget) => kinds.map((kind) => ({ budget, kind })));
	const rows: string[][] = [];
	const bounds: string[] = [];
	for (const { name, cut } of contenders) {
		progress(`truncate: recall, ${name}`);
		const cells = columns.map(({ budget, kind }) => {
			const shares = measureShares({ cases, budget, kind, cut });
			if (bounds.length < columns.length) bounds.push((shares.bound / shares.wanted).toFixed(2));
			return `${(shares.kept / shares.wanted).toFixed(2)} (${gapClosed(shares).toFixed(2)})`;
		});
		rows.push([name, ...cells]);
	}
	return {
		caption: `Recall over ${cases.length} results of more than ${largeTokens} tokens (and gap closed)`,
		isPublished: { without: ["2 000", "8 000"].flatMap((budget) => kinds.map((kind) => `${kind}, ${budget}`)) },
		columns: ["contender", ...columns.map(({ budget, kind }) => `${kind}, ${short(budget)}`)],
		rows: [...rows, ["clairvoyant bound", ...bounds]],
	};
}

async function promiseTables(contenders: readonly TruncateContender[]): Promise<Table[]> {
	const files = readdirSync(`${dataFolder}/outputs`).filter((name) => name !== "index.json");
	const texts = files.map((name) => ({ name, text: readFileSync(`${dataFolder}/outputs/${name}`, "utf8") }));
	const isLog = (name: string) => /log|traceback|ansi\.txt/.test(name) && !/git|html/.test(name);
	const logs = texts
		.filter(({ name }) => isLog(name))
		.map(({ text }) => text)
		.map((text) => {
			const lines = stripVTControlCharacters(text).split("\n");
			return {
				text,
				failures: new Set(
					lines.map((line) => line.trim()).filter((line) => failure.test(line) && line.length <= 1_000),
				),
			};
		})
		.filter(({ failures }) => failures.size > 0 && exactCount([...failures].join("\n")) < largeTokens * 0.7);
	const json = texts.filter(({ name }) => name.endsWith(".json"));
	const rows: string[][] = [];
	for (const { name, cut } of contenders) {
		progress(`truncate: promises, ${name}`);
		const cuts = texts.flatMap(({ text }) =>
			recallBudgets.filter((max) => text.length > max).map((max) => ({ max, cut: cut({ text, focus: "" }, max) })),
		);
		const times: number[] = [];
		for (let round = 0; round < rounds; round += 1) {
			const run = () => texts.map(({ text }) => cut({ text, focus: "" }, failureChars).length);
			times.push(await timeOnce({ name, run }));
		}
		const chars = texts.reduce((sum, { text }) => sum + text.length, 0);
		let [kept, all] = [0, 0];
		for (const { text, failures } of logs) {
			const shown = new Set(
				stripVTControlCharacters(cut({ text, focus: "" }, failureChars))
					.split("\n")
					.map((line) => line.trim()),
			);
			all += failures.size;
			for (const one of failures) if (shown.has(one)) kept += 1;
		}
		const staysJson = json.flatMap(({ text }) =>
			recallBudgets.filter((max) => text.length > max).map((max) => isJson(cut({ text, focus: "" }, max))),
		);
		const share = (isGood: (one: (typeof cuts)[number]) => boolean) =>
			`${cuts.filter(isGood).length} of ${cuts.length}`;
		rows.push([
			name,
			share(({ max, cut: text }) => text.length <= max),
			share(({ cut: text }) => text.isWellFormed()),
			share(({ cut: text }) => text.trim() !== ""),
			`${kept} of ${all}`,
			`${staysJson.filter(Boolean).length} of ${staysJson.length}`,
			`${duration((median(times) / chars) * 1e6)}/MB`,
		]);
	}
	return [
		{
			caption: `${files.length} real outputs at ${recallBudgets.map(short).join(", ")} characters; failures of ${logs.length} failing logs, each line once, at ${short(failureChars)}`,
			columns: [
				"contender",
				"within the budget",
				"well-formed",
				"not empty",
				"failures kept",
				"JSON stays JSON",
				"time",
			],
			rows,
		},
	];
}

type Given = Parameters<TruncateContender["cut"]>[0];

/** Milliseconds of the processor: other work on the machine does not count. */
function processorTime(work: () => unknown): number {
	globalThis.gc?.();
	const before = process.cpuUsage();
	work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1_000;
}

function slopeTable({ cut }: TruncateContender): { table: Table; target: Target } {
	const results: { kind: string; small: number; large: number; growth: number }[] = [];
	for (const { kind, size, make } of hardOutputs) {
		progress(`truncate: ${kind}`);
		const [small, large] = [make(size), make(2 * size)].map((text) => ({ text, focus: "where is thing abc" }));
		const least = (given: typeof small) =>
			Math.min(...Array.from({ length: rounds }, () => processorTime(() => cut(given as Given, slopeChars))));
		const times = { small: least(small), large: least(large) };
		results.push({ kind, ...times, growth: times.large / times.small });
	}
	const worst = results.reduce((most, one) => (one.growth > most.growth ? one : most));
	return {
		table: {
			caption: `Hard outputs, cut to ${short(slopeChars)} characters with a focus: processor time, least of ${rounds}`,
			columns: ["output", "time", "twice as long", "ratio"],
			rows: results.map(({ kind, small, large, growth }) => [
				kind,
				duration(small),
				duration(large),
				`${short(growth)} ×`,
			]),
		},
		target: atMost(`hard outputs: time of twice the length; the worst is ${worst.kind}`, 2.6, worst.growth),
	};
}
