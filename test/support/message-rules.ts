import { blocksOf, isThinking, listOf } from "./bound-prefix.ts";
import { bindingBeta } from "./preserved-thinking.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * The 400 that Anthropic's API gives a request to its Messages for its shape, as far as a program that rewrites requests can
 * break it; nothing if there is none. The words are those of the API, without addresses. Sources:
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching (breakpoints, lifetimes),
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use (calls and results),
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking (thinking of the type `enabled`), and error messages
 * that users reported.
 */
export function refusalOfShape(body: Json): string | undefined {
	return refusalOfMessages(body) ?? firstOfLastAnswer(body) ?? budgetIn(body);
}

/** The same without the rules on thinking, for a stand-in that thinks nothing. */
export function refusalOfMessages(body: Json): string | undefined {
	return emptinessIn(listOf(body.messages)) ?? breakpointsIn(body) ?? pairingIn(listOf(body.messages));
}

/** With thinking of the type `enabled`, its budget is a part of the limit. */
function budgetIn({ thinking, max_tokens: limit }: Json): string | undefined {
	const { type, budget_tokens: budget } = (thinking ?? {}) as Json;
	if (type !== "enabled" || typeof budget !== "number" || typeof limit !== "number" || limit > budget) return undefined;
	return "`max_tokens` must be greater than `thinking.budget_tokens`.";
}

/** What a gateway refuses that knows the API as it was at the end of July 2026. */
export function refusalOfGateway(body: Json, betas: readonly string[]): string | undefined {
	const unknown = betas.filter((beta) => (/\d{4}-\d{2}/.exec(beta)?.[0] ?? "") >= "2026-08");
	if (unknown.length > 0) {
		const values = unknown.map((beta) => `\`${beta}\``).join(", ");
		return `Unexpected value(s) ${values} for the \`anthropic-beta\` header. Please consult our documentation or try again without the header.`;
	}
	return bindingField(body) === undefined ? undefined : extraField(body);
}

/** What a gateway refuses that knows no edit of the context but `clear_thinking_20251015`. */
export function refusalOfClearing({ context_management: management }: Json): string | undefined {
	const edits = listOf((management as Json | undefined)?.edits);
	const index = edits.findIndex(({ type }) => type !== "clear_thinking_20251015");
	if (index === -1) return undefined;
	return `context_management.edits.${index}: Input tag '${edits[index]?.type}' found using 'type' does not match any of the expected tags: 'clear_thinking_20251015'`;
}

/** `block_binding` without the beta header is a 400, and so is a value that the API does not know. */
export function refusalOfBinding(body: Json, betas: readonly string[]): string | undefined {
	const binding = bindingField(body);
	if (binding === undefined) return undefined;
	if (!betas.includes(bindingBeta)) return extraField(body);
	const behaviour = (binding as Json | null)?.prefix_mismatch_behavior ?? "error";
	if (behaviour === "error" || behaviour === "drop_block") return undefined;
	return `${fieldName(body)}.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'`;
}

function bindingField({ thinking }: Json): unknown {
	return (thinking as Json | undefined)?.block_binding;
}

function fieldName({ thinking }: Json): string {
	return `thinking.${String((thinking as Json).type)}.block_binding`;
}

function extraField(body: Json): string {
	return `${fieldName(body)}: Extra inputs are not permitted`;
}

function emptinessIn(messages: readonly Json[]): string | undefined {
	if (messages.length === 0) return "messages: at least one message is required";
	for (const [index, { role, content, output_config: output }] of messages.entries()) {
		// https://platform.claude.com/docs/build-with-claude/effort-per-message: such a message sets the effort alone.
		const setsEffort = role === "system" && (output as Json | undefined)?.effort !== undefined;
		const isOptional = setsEffort || (role === "assistant" && index === messages.length - 1);
		if (blocksOf(content).length === 0 || content === "") {
			if (isOptional) continue;
			return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`;
		}
		const texts = blocksOf(content).flatMap((block) =>
			block.type === "tool_result" && Array.isArray(block.content) ? [block, ...listOf(block.content)] : [block],
		);
		for (const { type, text } of texts) {
			if (type !== "text") continue;
			if (text === "") return "messages: text content blocks must be non-empty";
			if (String(text).trim() === "") return "messages: text content blocks must contain non-whitespace text";
		}
	}
	return undefined;
}

const mostBreakpoints = 4;

interface Marked {
	readonly path: string;
	readonly block: Json;
}

function breakpointsIn(body: Json): string | undefined {
	const blocks: Marked[] = [
		...listOf(body.tools).map((block, index) => ({ path: `tools.${index}`, block })),
		...blocksOf(body.system).map((block, index) => ({ path: `system.${index}`, block })),
		...listOf(body.messages).flatMap(({ content }, message) =>
			blocksOf(content).flatMap((block, index) => {
				const path = `messages.${message}.content.${index}`;
				const inner = block.type === "tool_result" ? listOf(block.content) : [];
				return [...inner.map((one, place) => ({ path: `${path}.content.${place}`, block: one })), { path, block }];
			}),
		),
		// A mark on the request itself is one on its last block.
		{ path: "", block: body },
	];
	const marked = blocks.filter(({ block }) => block.cache_control !== undefined && block.cache_control !== null);
	const onThinking = marked.find(({ block }) => isThinking(block));
	if (onThinking) {
		return `${onThinking.path}.${String(onThinking.block.type)}.cache_control: Extra inputs are not permitted`;
	}
	if (marked.length > mostBreakpoints)
		return `A maximum of ${mostBreakpoints} blocks with cache_control may be provided. Found ${marked.length}.`;
	let shortBefore = false;
	for (const { path, block } of marked) {
		const isLong = (block.cache_control as Json).ttl === "1h";
		if (isLong && shortBefore) {
			return `${path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`;
		}
		shortBefore ||= !isLong;
	}
	return undefined;
}

interface Turn {
	readonly role: unknown;
	readonly blocks: (Json & { readonly path: string })[];
	/** Index of its first message. */
	readonly index: number;
}

/** The API joins messages of one role in a row. A message of the role `system` may come between. */
function turnsOf(messages: readonly Json[]): Turn[] {
	const turns: Turn[] = [];
	for (const [index, { role, content }] of messages.entries()) {
		if (role === "system") continue;
		const blocks = blocksOf(content).map((block, place) => ({ ...block, path: `messages.${index}.content.${place}` }));
		const last = turns.at(-1);
		if (last !== undefined && last.role === role) last.blocks.push(...blocks);
		else turns.push({ role, blocks, index });
	}
	return turns;
}

function pairingIn(messages: readonly Json[]): string | undefined {
	const turns = turnsOf(messages);
	const seen = new Set<unknown>();
	for (const [place, { role, blocks, index }] of turns.entries()) {
		const calls = blocks.filter(({ type }) => type === "tool_use");
		const results = blocks.filter(({ type }) => type === "tool_result");
		for (const { id } of calls) {
			if (seen.has(id)) return "messages: `tool_use` ids must be unique";
			seen.add(id);
		}
		const before = turns[place - 1]?.blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id) ?? [];
		const answered = new Set<unknown>();
		for (const { tool_use_id: id, path } of results) {
			if (role !== "user" || !before.includes(id)) {
				return `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
			}
			if (answered.has(id)) {
				return `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
			}
			answered.add(id);
		}
		const following = turns[place + 1]?.blocks.map(({ tool_use_id }) => tool_use_id) ?? [];
		const open = calls.map(({ id }) => id).filter((id) => !following.includes(id));
		if (open.length > 0) {
			return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
		}
	}
	return undefined;
}

/** With thinking of the type `enabled`, an answer whose calls are being answered begins with thinking. `adaptive` does not ask for it. */
function firstOfLastAnswer({ thinking, messages }: Json): string | undefined {
	if ((thinking as Json | undefined)?.type !== "enabled") return undefined;
	const index = listOf(messages).findLastIndex(({ role }) => role === "assistant");
	const blocks = blocksOf(listOf(messages)[index]?.content);
	const isBeingAnswered = blocks.some(({ type }) => type === "tool_use");
	const first = blocks[0];
	if (!isBeingAnswered || first === undefined || isThinking(first)) return undefined;
	return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
}
