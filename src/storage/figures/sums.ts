import type { FigureLine, RequestLine } from "./line.ts";

/** Figures are summed by one of these. */
export const groupings = ["day", "person", "project", "program", "model", "agent"] as const;

export type Grouping = (typeof groupings)[number];

export type FigureSums = ReturnType<typeof newSums>;

/**
 * Sums lines. `saved` compares a request with the bill that it would have had unedited, for the requests whose unedited bill
 * is known (src/proxy/billing/unedited-bill.ts); pings that kept a cache warm are a cost of it.
 */
export function startSums(by: Grouping) {
	const all = newSums();
	const groups = new Map<string, FigureSums>();
	const heldOut = newSums();
	return {
		add(line: FigureLine): void {
			if (line.kind === "tools") return;
			addTo(all, line);
			if (line.kind === "request" && line.held_out) addTo(heldOut, line);
			const name = groupOf(line, by);
			const group = groups.get(name) ?? newSums();
			groups.set(name, group);
			addTo(group, line);
		},
		end() {
			const rows = Array.from(groups, ([name, sums]) => ({ name, ...withSavings(sums) }));
			const order = by === "day" ? byName : byDollars;
			const { requests } = heldOut;
			return { all: withSavings(all), by: rows.sort(order), held_out: requests > 0 ? withSavings(heldOut) : undefined };
		},
	};
}

export type Statistics = ReturnType<ReturnType<typeof startSums>["end"]>;

const byName = (one: { readonly name: string }, other: { readonly name: string }) => (one.name < other.name ? -1 : 1);
const byDollars = (one: FigureSums, other: FigureSums) => other.usd - one.usd || other.billed - one.billed;

const newSums = () => ({
	requests: 0,
	/** Tokens of the prompts, as the provider counts. */
	tokens: 0,
	output_tokens: 0,
	tokens_left_out: 0,
	/** In prices of an input token. */
	billed: 0,
	/** The two bills of the requests whose unedited bill is known. */
	compared_billed: 0,
	compared_unedited: 0,
	untold_requests: 0,
	usd: 0,
	compared_usd: 0,
	compared_usd_unedited: 0,
	/** Requests of models whose price is unknown: they are in no sum of dollars. */
	unpriced_requests: 0,
	/** Without a usage that can be read: by our count, without the output, and without a saving. */
	estimated_requests: 0,
	/** Of which nothing is known but that they were sent. */
	unknown_requests: 0,
	/** Cut before the answer told its output. */
	cut_requests: 0,
	held_out_requests: 0,
	undecided_requests: 0,
	/** Of subagents, with their dollars where the price is known; they are in all other sums too. */
	subagent_requests: 0,
	subagent_usd: 0,
	refusals: 0,
	pings: 0,
	/** Of the provider, for which the proxy has asked; with the pings they have the sums below. */
	summaries: 0,
	ping_usd: 0,
	ping_billed: 0,
	/** Results that were cut before a program saw them. */
	results: 0,
	result_chars_before: 0,
	result_chars_after: 0,
});

function addTo(sums: FigureSums, line: FigureLine): void {
	switch (line.kind) {
		case "request":
			addRequest(sums, line);
			return;
		case "ping":
			if (line.summary) sums.summaries += 1;
			else sums.pings += 1;
			sums.ping_billed += line.billed;
			sums.ping_usd += line.usd ?? 0;
			return;
		case "refusal":
			sums.refusals += 1;
			return;
		case "result":
			sums.results += 1;
			sums.result_chars_before += line.chars_before;
			sums.result_chars_after += line.chars_after;
	}
}

function addRequest(sums: FigureSums, line: RequestLine): void {
	sums.requests += 1;
	if (line.held_out) sums.held_out_requests += 1;
	if (line.undecided !== undefined) sums.undecided_requests += 1;
	if (line.agent !== undefined) {
		sums.subagent_requests += 1;
		sums.subagent_usd += line.usd ?? 0;
	}
	if (line.unknown) {
		sums.unknown_requests += 1;
		return;
	}
	sums.tokens += line.input + line.read + line.write;
	sums.output_tokens += line.output;
	sums.tokens_left_out += line.left_out;
	sums.billed += line.billed;
	if (line.unedited === undefined) sums.untold_requests += 1;
	else {
		sums.compared_billed += line.billed;
		sums.compared_unedited += line.unedited;
	}
	if (line.usd === undefined) sums.unpriced_requests += 1;
	else sums.usd += line.usd;
	if (line.usd !== undefined && line.usd_unedited !== undefined) {
		sums.compared_usd += line.usd;
		sums.compared_usd_unedited += line.usd_unedited;
	}
	if (line.estimated) sums.estimated_requests += 1;
	if (line.cut) sums.cut_requests += 1;
}

function withSavings(sums: FigureSums) {
	const { compared_billed, compared_unedited, compared_usd, compared_usd_unedited, ping_billed, ping_usd } = sums;
	return {
		...sums,
		/** The bill with its pings, by the unedited one; `null` if that is unknown for all requests. */
		ratio: compared_unedited > 0 ? (compared_billed + ping_billed) / compared_unedited : null,
		/** Less the pings; `null` if the unedited dollars are unknown for all requests. */
		usd_saved: compared_usd_unedited > 0 ? compared_usd_unedited - compared_usd - ping_usd : null,
	};
}

function groupOf(line: FigureLine, by: Grouping): string {
	if (by === "day") return localDay(line.at);
	if (by === "agent")
		return line.kind === "request" && line.agent !== undefined ? `subagent ${line.agent}` : "main agent";
	if (by === "model") return ("model" in line && line.model) || "unknown";
	return line[by] ?? "unknown";
}

function localDay(at: number): string {
	const date = new Date(at);
	const two = (value: number) => String(value).padStart(2, "0");
	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
