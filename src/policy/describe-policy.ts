import type { Policy } from "./schema.ts";

/** One paragraph, under 600 characters, that says what a policy does; for a server's instructions. */
export function describePolicy(policy: Policy): string {
	return [
		`Preset ${policy.preset}: ${describeMask(policy)}.`,
		describeGuard(policy),
		describeTruncate(policy),
		`Wording: ${policy.locale}.`,
	].join(" ");
}

function describeTruncate({ truncate }: Policy): string {
	const { strategy, max_chars, max_tokens, head_chars, tail_chars } = truncate;
	const limit = max_tokens === null ? characters(max_chars) : `${max_tokens} tokens`;
	const isHeadTail = strategy === "head_tail" && max_tokens === null;
	const how = isHeadTail
		? `to head ${head_chars} + tail ${tail_chars}`
		: `to that, by strategy ${strategy === "head_tail" ? "auto" : strategy}`;
	return `truncate_output cuts texts over ${limit} ${how}.`;
}

function describeMask({ mask }: Policy): string {
	if (!mask.enabled || mask.window_turns <= 0) return "tool results are not masked";
	const turns = `${mask.window_turns} tool turn${mask.window_turns === 1 ? "" : "s"}`;
	const kept = [mask.keep_errors ? "errors kept" : "errors too"];
	if (mask.keep_last_k_per_tool) kept.push(`last ${mask.keep_last_k_per_tool} of each tool kept`);
	return `results older than ${turns} are masked, ${kept.join(", ")}`;
}

function describeGuard({ guard }: Policy): string {
	const share = guard.budget_ratio < 1 ? `${Number((guard.budget_ratio * 100).toFixed(1))} % of ` : "";
	const window =
		guard.context_window_override === null ? "the model's window" : `${guard.context_window_override} tokens`;
	const reserve = guard.reserve_tokens > 0 ? ` less ${guard.reserve_tokens} tokens` : "";
	const budget = `The guard fits ${share}${window}${reserve}`;
	if (guard.ladder.length === 0) return `${budget}: it only reports.`;
	const cut = guard.ladder.includes("truncate")
		? ` (results over ${characters(guard.max_tool_result_chars)}${guard.truncate_when === "always" ? ", always" : ""})`
		: "";
	const steps = guard.ladder.map((step) => (step === "truncate" ? `${step}${cut}` : step)).join(", then ");
	const pinned = guard.pin_task ? " and the task" : "";
	const newest =
		guard.keep_last_messages === 1 ? "the newest message" : `the newest ${guard.keep_last_messages} messages`;
	return `${budget} by ${steps}; keeps system messages${pinned} and ${newest}.`;
}

function characters(count: number): string {
	return `${count} characters`;
}
