/** In the order in which a provider reads them. */
export const partsOfWindow = [
	"system_prompt",
	"tools",
	"people",
	"assistant",
	"reasoning",
	"calls",
	"tool_results",
	"other",
] as const;

export type PartOfWindow = (typeof partsOfWindow)[number];

/** One name for each part, wherever it is shown. */
export const partNames: Readonly<Record<PartOfWindow, string>> = {
	system_prompt: "system prompt",
	tools: "tools",
	people: "people's words",
	assistant: "assistant's words",
	reasoning: "reasoning",
	calls: "calls of tools",
	tool_results: "results of tools",
	other: "other roles",
};

export interface PartShare {
	readonly part: PartOfWindow;
	/** `null`: not in the record. */
	readonly tokens: number | null;
	/** Tools by MCP server, or results by tool, the largest first; empty for other parts. */
	readonly groups: readonly GroupShare[];
}

interface GroupShare {
	/** `null`: tools of no known server, or an unknown tool. */
	readonly name: string | null;
	readonly tokens: number;
	/** Tools, or results. */
	readonly count: number;
	/** By masking. */
	readonly freed_tokens: number;
}

/** What masking by a policy frees now. */
export interface MaskingShare {
	readonly freed_tokens: number;
	readonly masked: number;
	/** From the first change on, which the provider writes to its cache again. */
	readonly rewritten_tokens: number;
	/** 0 if it costs nothing, `null` if never or if nothing changes. */
	readonly calls_to_break_even: number | null;
}

/** How a face writes numbers. */
interface Numbers {
	readonly count: (value: number) => string;
	readonly share: (part: number) => string;
}

export function groupName({ part }: Pick<PartShare, "part">, { name }: Pick<GroupShare, "name">): string {
	return name ?? (part === "tools" ? "built in" : "unknown");
}

/** The groups of a part that say more than the part. */
export function shownGroups({ part, groups }: PartShare): PartShare["groups"] {
	return part === "tools" && groups.every(({ name }) => name === null) ? [] : groups;
}

/** Names the parts that are not in the record, such as the system prompt of a session of Claude Code; `undefined` if all are. */
export function unrecordedWords(
	parts: readonly PartShare[],
	unrecordedTokens: number | null,
	{ count }: Numbers = plain,
): string | undefined {
	const absent = parts.filter(({ tokens }) => tokens === null).map(({ part }) => partNames[part]);
	if (absent.length === 0) return undefined;
	const about = unrecordedTokens === null ? "" : ` (some ${count(unrecordedTokens)} by an answer's usage)`;
	return `Not in this record: ${absent.join(" and ")}${about}.`;
}

/** How far it is to the next price step of the model; `undefined` without one. */
export function priceStepWords(
	tokens: number,
	steps: readonly number[],
	{ count }: Numbers = plain,
): string | undefined {
	const next = steps.filter((over) => over >= tokens).sort((a, b) => a - b)[0];
	const passed = steps.filter((over) => over < tokens).sort((a, b) => b - a)[0];
	const words = [
		...(passed === undefined ? [] : [`over the price step at ${count(passed)}`]),
		...(next === undefined ? [] : [`${count(next - tokens)} left to the price step at ${count(next)}`]),
	];
	return words.length > 0 ? words.join("; ") : undefined;
}

/** `undefined` if nothing stands in the window twice. */
export function repeatedWords(
	repeated: number,
	tokens: number,
	{ count, share: shareOf }: Numbers = plain,
): string | undefined {
	if (repeated <= 0) return undefined;
	return `${count(repeated)} tokens (${shareOf(repeated / tokens)}) stand there twice: results repeat lines of earlier ones.`;
}

/** `null`: the policy turns masking off. */
export function maskingWords(
	masking: MaskingShare | null,
	tokens: number,
	{ count, share: shareOf }: Numbers = plain,
): string {
	if (masking === null) return "The policy turns masking off.";
	const { freed_tokens: freed, masked, rewritten_tokens: rewritten, calls_to_break_even: calls } = masking;
	if (masked === 0 || freed <= 0) return "Masking by this policy frees nothing now.";
	const pays = calls === null ? "never pays" : `pays after ${count(calls)} ${calls === 1 ? "call" : "calls"}`;
	const again = calls === 0 ? "" : ` ${count(rewritten)} are written to the cache again, which ${pays}.`;
	const of = `${count(masked)} ${masked === 1 ? "result" : "results"}`;
	return `Masking by this policy frees ${count(freed)} tokens (${shareOf(freed / tokens)}) of ${of}.${again}`;
}

export function whole(value: number): string {
	return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ");
}

export function share(part: number): string {
	return Number.isFinite(part) ? `${(100 * part).toFixed(1)} %` : "–";
}

const plain: Numbers = { count: whole, share };

export function counted(count: number, one: string, several = `${one}s`): string {
	return `${whole(count)} ${count === 1 ? one : several}`;
}
