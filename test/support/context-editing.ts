import { blocksOf, listOf } from "./bound-prefix.ts";
import { promptTokens, type TokensOfBlock } from "./provider-cache.ts";

type Json = Readonly<Record<string, unknown>>;

export const contextManagementBeta = "context-management-2025-06-27";
const clearToolUses = "clear_tool_uses_20250919";
const clearThinking = "clear_thinking_20251015";

/** An edit that the API made of the input, for the answer. */
export interface AppliedEdit {
	readonly type: typeof clearToolUses;
	readonly cleared_tool_uses: number;
	readonly cleared_input_tokens: number;
}

const fieldsOf: Readonly<Record<string, readonly string[]>> = {
	[clearToolUses]: ["type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"],
	[clearThinking]: ["type", "keep"],
	compact_20260112: ["type", "trigger", "instructions", "pause_after_compaction"],
};

/**
 * The 400 for `context_management`; nothing if there is none. Sources:
 * https://platform.claude.com/docs/en/build-with-claude/context-editing (the beta header, the fields, the order) and the types
 * `BetaContextManagementConfig` and `BetaClearToolUses20250919Edit` of `@anthropic-ai/sdk`.
 */
export function refusalOfContextManagement(body: Json, betas: readonly string[]): string | undefined {
	const { context_management: management } = body;
	if (management === undefined || management === null) return undefined;
	if (!betas.includes(contextManagementBeta)) return "context_management: Extra inputs are not permitted";
	if (typeof management !== "object" || Array.isArray(management))
		return "context_management: Input should be a valid dictionary";
	const extra = Object.keys(management).find((name) => name !== "edits");
	if (extra !== undefined) return `context_management.${extra}: Extra inputs are not permitted`;
	const { edits = [] } = management as Json;
	if (!Array.isArray(edits)) return "context_management.edits: Input should be a valid list";
	const types = edits.map((edit: Json) => edit.type);
	for (const [index, edit] of edits.entries()) {
		const problem = problemOf(edit as Json, `context_management.edits.${index}`);
		if (problem !== undefined) return problem;
	}
	if (types.indexOf(clearThinking) > 0) return `context_management.edits: \`${clearThinking}\` must be the first edit`;
	if (new Set(types).size < types.length) return "context_management.edits: each edit type may be given at most once";
	return undefined;
}

function problemOf(edit: Json, path: string): string | undefined {
	const fields = fieldsOf[String(edit.type)];
	if (fields === undefined) {
		const tags = Object.keys(fieldsOf).map((tag) => `'${tag}'`);
		return `${path}: Input tag '${edit.type}' found using 'type' does not match any of the expected tags: ${tags.join(", ")}`;
	}
	const extra = Object.keys(edit).find((name) => !fields.includes(name));
	if (extra !== undefined) return `${path}.${edit.type}.${extra}: Extra inputs are not permitted`;
	if (edit.type !== clearToolUses) return undefined;
	const { trigger, keep, clear_at_least, exclude_tools, clear_tool_inputs } = edit;
	const at = `${path}.${edit.type}`;
	return (
		problemOfAmount(trigger, `${at}.trigger`, ["input_tokens", "tool_uses"], 1) ??
		problemOfAmount(keep, `${at}.keep`, ["tool_uses"], 0) ??
		problemOfAmount(clear_at_least, `${at}.clear_at_least`, ["input_tokens"], 0) ??
		(isAbsent(exclude_tools) || (Array.isArray(exclude_tools) && exclude_tools.every((one) => typeof one === "string"))
			? undefined
			: `${at}.exclude_tools: Input should be a valid list`) ??
		(isAbsent(clear_tool_inputs) || typeof clear_tool_inputs === "boolean" || Array.isArray(clear_tool_inputs)
			? undefined
			: `${at}.clear_tool_inputs: Input should be a valid boolean`)
	);
}

function problemOfAmount(amount: unknown, path: string, types: readonly string[], least: number): string | undefined {
	if (isAbsent(amount)) return undefined;
	const { type, value, ...others } = amount as Json;
	if (!types.includes(String(type)))
		return `${path}.type: Input should be ${types.map((one) => `'${one}'`).join(" or ")}`;
	if (!Number.isSafeInteger(value)) return `${path}.value: Input should be a valid integer`;
	if ((value as number) < least) return `${path}.value: Input should be greater than or equal to ${least}`;
	const [extra] = Object.keys(others);
	return extra === undefined ? undefined : `${path}.${extra}: Extra inputs are not permitted`;
}

function isAbsent(value: unknown): boolean {
	return value === undefined || value === null;
}

const usual = { trigger: 100_000, keep: 3 };
const clearedText = "[cleared]";

/**
 * The request as the model is shown it: worked out from what was sent, nothing is remembered. The oldest results go, all but
 * those of the last `keep` tool uses; excluded tools count among these, which the page does not say, and their results stay.
 * Nothing goes below the trigger, or if it is less than `clear_at_least`. `undefined` without the edit.
 */
export function applyContextManagement(
	body: Json,
	tokensOf: TokensOfBlock = () => undefined,
): { readonly body: Json; readonly applied: readonly AppliedEdit[]; readonly original: number } | undefined {
	const management = body.context_management as Json | null | undefined;
	if (isAbsent(management)) return undefined;
	const original = promptTokens("anthropic", body, tokensOf);
	const edit = listOf((management as Json).edits).find(({ type }) => type === clearToolUses);
	const none = { body, applied: [], original };
	if (!edit) return none;
	const uses = listOf(body.messages).flatMap(({ content }) =>
		blocksOf(content).filter(({ type }) => type === "tool_use"),
	);
	const { type, value } = (edit.trigger ?? { type: "input_tokens", value: usual.trigger }) as Json;
	if ((type === "tool_uses" ? uses.length : original) <= (value as number)) return none;
	const keep = ((edit.keep as Json | null)?.value ?? usual.keep) as number;
	const excluded = new Set((edit.exclude_tools ?? []) as string[]);
	const going = uses.slice(0, Math.max(0, uses.length - keep)).filter(({ name }) => !excluded.has(String(name)));
	const ids = new Set(going.map(({ id }) => id));
	let cleared = 0;
	const messages = listOf(body.messages).map((message) => {
		if (typeof message.content === "string") return message;
		const content = blocksOf(message.content).map((block) => {
			if (block.type !== "tool_result" || !ids.has(block.tool_use_id)) return block;
			cleared += 1;
			return { ...block, content: clearedText };
		});
		return { ...message, content };
	});
	const shown = { ...body, messages };
	const tokens = original - promptTokens("anthropic", shown, tokensOf);
	const least = ((edit.clear_at_least as Json | null | undefined)?.value ?? 0) as number;
	if (cleared === 0 || tokens < least) return none;
	const applied = { type: clearToolUses, cleared_tool_uses: cleared, cleared_input_tokens: tokens } as const;
	return { body: shown, applied: [applied], original };
}
