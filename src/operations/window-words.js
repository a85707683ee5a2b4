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
];
/** One name for each part, wherever it is shown. */
export const partNames = {
	system_prompt: "system prompt",
	tools: "tools",
	people: "people's words",
	assistant: "assistant's words",
	reasoning: "reasoning",
	calls: "calls of tools",
	tool_results: "results of tools",
	other: "other roles",
};
export function groupName({ part }, { name }) {
	return name ?? (part === "tools" ? "built in" : "unknown");
}
/** The groups of a part that say more than the part. */
export function shownGroups({ part, groups }) {
	return part === "tools" && groups.every(({ name }) => name === null) ? [] : groups;
}
/** Names the parts that are not in the record, such as the system prompt of a session of Claude Code; `undefined` if all are. */
export function unrecordedWords(parts, unrecordedTokens, { count } = plain) {
	const absent = parts.filter(({ tokens }) => tokens === null).map(({ part }) => partNames[part]);
	if (absent.length === 0) return undefined;
	const about = unrecordedTokens === null ? "" : ` (some ${count(unrecordedTokens)} by an answer's usage)`;
	return `Not in this record: ${absent.join(" and ")}${about}.`;
}
/** How far it is to the next price step of the model; `undefined` without one. */
export function priceStepWords(tokens, steps, { count } = plain) {
	const next = steps.filter((over) => over >= tokens).sort((a, b) => a - b)[0];
	const passed = steps.filter((over) => over < tokens).sort((a, b) => b - a)[0];
	const words = [
		...(passed === undefined ? [] : [`over the price step at ${count(passed)}`]),
		...(next === undefined ? [] : [`${count(next - tokens)} left to the price step at ${count(next)}`]),
	];
	return words.length > 0 ? words.join("; ") : undefined;
}
/** `null`: the policy turns masking off. */
export function maskingWords(masking, tokens, { count, share: shareOf } = plain) {
	if (masking === null) return "The policy turns masking off.";
	const { freed_tokens: freed, masked, rewritten_tokens: rewritten, calls_to_break_even: calls } = masking;
	if (masked === 0 || freed <= 0) return "Masking by this policy frees nothing now.";
	const pays = calls === null ? "never pays" : `pays after ${count(calls)} ${calls === 1 ? "call" : "calls"}`;
	const again = calls === 0 ? "" : ` ${count(rewritten)} are written to the cache again, which ${pays}.`;
	const of = `${count(masked)} ${masked === 1 ? "result" : "results"}`;
	return `Masking by this policy frees ${count(freed)} tokens (${shareOf(freed / tokens)}) of ${of}.${again}`;
}
export function whole(value) {
	return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ");
}
export function share(part) {
	return Number.isFinite(part) ? `${(100 * part).toFixed(1)} %` : "–";
}
const plain = { count: whole, share };
export function counted(count, one, several = `${one}s`) {
	return `${whole(count)} ${count === 1 ? one : several}`;
}
