import type { Rates } from "../../pipeline/replay/rates.ts";
import type { ReplayReport } from "../../pipeline/replay/replay-report.ts";
import { policiesTable, whole } from "./policies-table.ts";

/** Files up to which each has its table without being asked for. */
const fewFiles = 3;

/** A report for people: what was replayed, a table over all files, what its columns say, and tables of single files. */
export function replayText(
	{ policies, files }: ReplayReport,
	{ rates, eachFile }: { readonly rates: Rates; readonly eachFile: boolean },
): string {
	const { unit } = rates;
	const calls = whole(policies[0]?.llm_calls ?? 0);
	const of = files.length === 1 ? files[0]?.file : `${whole(files.length)} conversations`;
	const parts = [`${of}, ${calls} LLM calls\n`, policiesTable(policies, unit), legend(rates)];
	if (files.length > 1 && (eachFile || files.length <= fewFiles)) {
		for (const one of files) parts.push(`${one.file}\n${policiesTable(one.policies, unit)}`);
	}
	return parts.join("\n");
}

function legend({ unit, prices }: Rates): string {
	const one = prices.input > 0 ? prices.input : 1;
	const at = `${short(prices.cache_read / one)} for a token read from the provider's cache, ${short(prices.cache_write / one)} for one written to it`;
	return [
		unit === "us_dollars"
			? `billed: input in US dollars; × the input price, ${at}`
			: `billed: in prices of an input token, ${at}`,
		"× raw: against masking nothing; worst: of one conversation; × optimum: against the cheapest of the same window",
		"identifiers, lines: share of those that the agent took from tool results that was in view when it did",
		"",
	].join("\n");
}

function short(value: number): string {
	return String(Number(value.toPrecision(4)));
}
