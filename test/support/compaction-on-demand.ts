import { createHash } from "node:crypto";
import { type BoundRequest, blocksOf, listOf, type StandsFor } from "./bound-prefix.ts";
import { enforcementOf } from "./claude-models.ts";

type Json = Readonly<Record<string, unknown>>;

export const compactionBeta = "compact-2026-09-04";

/** How a summarization call ends; a number is the HTTP status of a transient error. */
export type CompactionEnd =
	| "compaction"
	| "max_tokens"
	| "model_context_window_exceeded"
	| "tool_use"
	| "refusal"
	| "end_turn"
	| 529;

export interface CompactionOptions {
	/** The model's summary. An assumption: the lines that the instructions want copied, behind 8 000 characters, unless given. */
	readonly summary?: (body: Json) => string;
	/** How the first calls end; the others end with a summary. */
	readonly ends?: readonly CompactionEnd[];
}

/** A refusal with the code that the API puts under `error.details`. */
export interface CompactionRefusal {
	readonly message: string;
	readonly code?: string;
}

export interface CompactionOnDemand {
	readonly refusal: (body: Json, betas: readonly string[]) => CompactionRefusal | undefined;
	/** What the block at the start of a request stands for. */
	readonly standsFor: (body: Json) => StandsFor | undefined;
	/** Ends a request for a summary; `content` is empty where none was made. */
	readonly end: (
		body: Json,
		bound: BoundRequest,
	) => { readonly reason: CompactionEnd; readonly content: readonly Json[]; readonly outputTokens: number };
}

interface Issued extends StandsFor {
	readonly content: string;
}

const bytesPerToken = 4;

/**
 * Compaction on demand as Anthropic's API does it. Sources: https://platform.claude.com/docs/en/build-with-claude/ with
 * compaction-on-demand (the request, refusals, reasons to stop, usage), compaction-keep-recent-turns, compaction-background and
 * compaction-thinking-blocks (which reasoning stays valid).
 */
export function createCompactionOnDemand({
	summary = usualSummary,
	ends = [],
}: CompactionOptions = {}): CompactionOnDemand {
	const issued = new Map<string, Issued>();
	let calls = 0;

	return {
		refusal(body, betas) {
			const hasBeta = betas.includes(compactionBeta);
			if (body.compaction !== undefined && !hasBeta)
				return { message: `compaction: this parameter requires anthropic-beta: ${compactionBeta}` };
			return refusalOfBlocks(body, hasBeta) ?? (body.compaction === undefined ? undefined : refusalOfRequest(body));
		},
		standsFor(body) {
			const [first] = blocksOf(listOf(body.messages)[0]?.content);
			return first?.type === "compaction" ? issued.get(String(first.signature)) : undefined;
		},
		end(body, bound) {
			const reason = ends[calls] ?? "compaction";
			calls += 1;
			if (reason !== "compaction") return { reason, content: [], outputTokens: reason === 529 ? 0 : 20 };
			const content = summary(body);
			const signature = createHash("sha512").update(`${calls} ${content}`).digest("base64");
			const binds = enforcementOf(String(body.model)) !== "nobody";
			// Only on a model that binds reasoning does the check accept the block for what it replaces.
			const heads = binds ? bound.end.heads : [];
			const { system, tools, lastRole } = bound.end;
			issued.set(signature, { own: `block ${signature}`, heads, system, tools, lastRole, content });
			const outputTokens = Math.ceil(Buffer.byteLength(content) / bytesPerToken);
			return { reason, content: [{ type: "compaction", content, signature }], outputTokens };
		},
	};

	function refusalOfBlocks(body: Json, hasBeta: boolean): CompactionRefusal | undefined {
		const found = listOf(body.messages).flatMap(({ content }, message) =>
			blocksOf(content).flatMap((block, index) => (block.type === "compaction" ? [{ block, message, index }] : [])),
		);
		const [first, second] = found;
		if (!first) return undefined;
		const path = `messages.${first.message}.content.${first.index}`;
		if (!hasBeta) {
			const message = `${path}: Input tag 'compaction' found using 'type' does not match any of the expected tags: 'text', 'image', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking'`;
			return { message };
		}
		if (second) return { message: "messages: at most one compaction block may be sent; send the newest one" };
		const { block } = first;
		const extra = Object.keys(block).find((name) => !["type", "content", "signature", "cache_control"].includes(name));
		if (extra) return { message: `${path}.compaction.${extra}: Extra inputs are not permitted` };
		const known = issued.get(String(block.signature));
		if (!known) return { message: `${path}: Invalid \`signature\``, code: "compaction_signature_invalid" };
		if (known.content !== block.content)
			return { message: `${path}: \`content\` does not match the signature`, code: "compaction_content_mismatch" };
		if (first.message + first.index > 0) {
			const message = `${path}: the compaction block must come first; remove the messages that it summarizes`;
			return { message, code: "compaction_block_misplaced" };
		}
		const budget = (body.output_config as Json | undefined)?.task_budget as Json | undefined;
		if (budget?.remaining === undefined) return undefined;
		return { message: "output_config.task_budget.remaining: not supported with compaction" };
	}
}

function refusalOfRequest(body: Json): CompactionRefusal | undefined {
	const { compaction, messages } = body;
	const { type, instructions, ...others } = compaction as Json;
	if (type !== "summarize") return { message: "compaction.type: Input should be 'summarize'" };
	const [extra] = Object.keys(others);
	if (extra) return { message: `compaction.${extra}: Extra inputs are not permitted` };
	if (typeof instructions === "string" && instructions.length > 16_384)
		return { message: "compaction.instructions: String should have at most 16384 characters" };
	if (!supports(String(body.model))) return { message: "compaction: this model does not support compaction" };
	const choice = (body.tool_choice as Json | undefined)?.type;
	const output = body.output_config as Json | undefined;
	const refused: readonly (readonly [string, boolean])[] = [
		["context_management", body.context_management !== undefined && body.context_management !== null],
		["stop_sequences", listOf(body.stop_sequences).length > 0],
		["tool_choice", choice === "any" || choice === "tool"],
		["output_config.format", output?.format !== undefined],
		["output_config.task_budget.remaining", (output?.task_budget as Json | undefined)?.remaining !== undefined],
	];
	const [name] = refused.find(([, isThere]) => isThere) ?? [];
	if (name) return { message: `${name}: cannot be combined with compaction` };
	const hasContent = listOf(messages).some(({ role }) => role === "user" || role === "assistant");
	if (!hasContent) return { message: "messages: nothing to summarize", code: "compaction_nothing_to_summarize" };
	return undefined;
}

/** https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand#compatibility */
function supports(model: string): boolean {
	const [, family = "", major, minor = "0"] = /claude-([a-z]+)-(\d+)(?:-(\d)(?!\d))?/.exec(model) ?? [];
	const floor = { opus: 46, sonnet: 46, haiku: 55 }[family] ?? 50;
	return Number(major) * 10 + Number(minor) >= floor;
}

const usualLength = 8_000;

/** An obedient model: it writes as much as it is asked for and copies the lines that it is to copy. */
export function usualSummary({ compaction, messages }: Json): string {
	const { instructions = "" } = compaction as { readonly instructions?: string };
	const copied = instructions.split(/copied word for word:\n\n|mot pour mot :\n\n|以下各行：\n\n/)[1] ?? "";
	const note = `## Task\nRead on; ${listOf(messages).length} messages so far.\n`;
	return `${note}${"The next file follows. ".repeat(Math.ceil(usualLength / 23)).slice(0, usualLength)}\n\n${copied}`.trim();
}
