import { createHash } from "node:crypto";

type Json = Readonly<Record<string, unknown>>;

/** What a thinking block is bound to: hashes of what came before it. */
export interface Binding {
	readonly system: string;
	readonly tools: string;
	/** Of the messages before it, and of the blocks before it in its own message. */
	readonly messages: string;
	/** Hashes that the API accepts in its place: of what a compaction block stands for. */
	readonly others: readonly string[];
	readonly messageCount: number;
}

/** What a compaction block of the API stands for. */
export interface StandsFor {
	/** Of the block itself: reasoning that comes behind it is bound to it. */
	readonly own: string;
	/** Of the messages that it replaced; empty where its model binds no reasoning. */
	readonly heads: readonly string[];
	readonly system: string;
	readonly tools: string;
	/** Role of the last summarised message: the API joins a first kept message of the same role to it. */
	readonly lastRole: unknown;
}

/** A block of thinking in a request. */
export interface SentThinking {
	readonly message: number;
	readonly content: number;
	readonly block: Json;
	readonly binding: Binding;
	/** Hash of the block behind it in its message. */
	readonly next: string | undefined;
}

/** A place in an assistant message where thinking could be: before a block, or at the end of the message. */
export interface ThinkingPlace {
	readonly binding: Binding;
	readonly next: string | undefined;
}

export interface BoundRequest {
	/** In the order of the request. */
	readonly thinking: readonly SentThinking[];
	readonly places: readonly ThinkingPlace[];
	/** What a block is bound to that answers this request, behind these blocks of the same answer. */
	readonly answered: (before: readonly unknown[]) => Binding;
	/** The request itself, for a summary of it. */
	readonly end: Pick<StandsFor, "heads" | "system" | "tools" | "lastRole">;
}

/**
 * The prefixes in a request that thinking is bound to. Source:
 * https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, "What counts as a change": the
 * top-level `system`, the set of `tools` and every message before the block, without the thinking in them. These do not count:
 * `cache_control`, the order of keys, the order of tools, a text in place of a list of one text, an absent field in place of
 * `null`, a tool with `defer_loading` that no message before the block refers to, and the first block of `system` that Claude
 * Code puts there for the bill. Nothing outside `system`, `tools` and `messages` counts.
 */
export function readBoundRequest(body: Json, block?: StandsFor): BoundRequest {
	const system = hash(canonical(withoutBillingHeader(blocksOf(body.system))));
	const toolsFor = toolHashes(listOf(body.tools));
	const referenced = new Set<string>();
	const thinking: SentThinking[] = [];
	const places: ThinkingPlace[] = [];
	let [heads, messageCount] = [[""], 0];
	const grown = (behind: readonly string[]) => heads.map((head) => hash([head, ...behind].join("\n")));
	const bindingBehind = (before: readonly string[]): Binding => {
		const [messages = "", ...others] = grown(before);
		return { system, tools: toolsFor(referenced), messages, others, messageCount };
	};
	for (const [index, message] of listOf(body.messages).entries()) {
		const all = blocksOf(message.content);
		const blocks = block && index === 0 ? all.slice(1) : all;
		if (block && index === 0) {
			const kept = blocks.length > 0 ? message : listOf(body.messages)[1];
			const isJoined = kept !== undefined && (kept.role === block.lastRole || kept.role === "system");
			const isSame = block.system === system && block.tools === toolsFor(referenced);
			heads = [block.own, ...(isSame && !isJoined ? block.heads : [])];
		}
		const texts = blocks.map((block) => (isThinking(block) ? undefined : canonical(block)));
		const before: string[] = [];
		for (const [content, one] of blocks.entries()) {
			const text = texts[content];
			const following = texts.slice(content).find((after) => after !== undefined);
			const next = following && hash(following);
			const binding = message.role === "assistant" ? bindingBehind(before) : undefined;
			if (text === undefined && binding)
				thinking.push({ message: index, content: content + all.length - blocks.length, block: one, binding, next });
			if (text !== undefined && binding) places.push({ binding, next });
			if (text !== undefined) before.push(text);
		}
		if (message.role === "assistant") places.push({ binding: bindingBehind(before), next: undefined });
		for (const name of toolReferences(blocks)) referenced.add(name);
		// A message that holds nothing but thinking is not there without it.
		if (before.length === 0) continue;
		heads = grown([String(message.role), ...before]);
		messageCount += 1;
	}
	const lastRole = listOf(body.messages).at(-1)?.role;
	const end = { heads, system, tools: toolsFor(referenced), lastRole };
	return { thinking, places, answered: (before) => bindingBehind(before.map(canonical)), end };
}

export function isThinking(block: Json): boolean {
	return block.type === "thinking" || block.type === "redacted_thinking";
}

/** The hash of a block as `next` has it. */
export function hashOfBlock(block: unknown): string {
	return hash(canonical(block));
}

const billingHeader = "x-anthropic-billing-header";

/** Claude Code changes this block in each request; on its own host the API leaves it out. */
export function withoutBillingHeader(system: readonly Json[]): readonly Json[] {
	const [first, ...rest] = system;
	return typeof first?.text === "string" && first.text.startsWith(billingHeader) ? rest : system;
}

/** A text is a list of one text. Claude Code sends the same message of the role `system` in both forms, in turns. */
export function blocksOf(content: unknown): readonly Json[] {
	return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
}

export function listOf(value: unknown): readonly Json[] {
	return Array.isArray(value) ? (value as Json[]) : [];
}

/** Of the tools that count, by the names that the messages so far refer to. */
function toolHashes(tools: readonly Json[]): (referenced: ReadonlySet<string>) => string {
	const deferred = tools.filter(({ defer_loading }) => defer_loading === true);
	const hashes = new Map<string, string>();
	return (referenced) => {
		const named = deferred.map(({ name }) => String(name)).filter((name) => referenced.has(name));
		const key = named.sort().join(" ");
		const known = hashes.get(key);
		if (known !== undefined) return known;
		const counted = tools.filter(({ name, defer_loading }) => defer_loading !== true || named.includes(String(name)));
		const set = counted.map(({ defer_loading, ...tool }) => canonical(tool)).sort();
		const made = hash(set.join("\n"));
		hashes.set(key, made);
		return made;
	};
}

/** Names of tools that a `tool_reference` or a `tool_addition` names, at any depth. */
function toolReferences(value: unknown): string[] {
	if (Array.isArray(value)) return value.flatMap(toolReferences);
	if (typeof value !== "object" || value === null) return [];
	const { type, tool_name, tool, content } = value as Json;
	if (type === "tool_reference") return [String(tool_name)];
	if (type === "tool_addition") return [String((tool as Json | undefined)?.name ?? tool_name)];
	return toolReferences(content);
}

function canonical(value: unknown): string {
	return JSON.stringify(clean(value));
}

function clean(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(clean);
	if (typeof value !== "object" || value === null) return value;
	const entries = Object.entries(value as Json)
		.filter(([name, one]) => one !== null && one !== undefined && name !== "cache_control")
		.filter(([name, one]) => !(name === "is_error" && one === false))
		.sort(([a], [b]) => (a < b ? -1 : 1));
	const isResult = (value as Json).type === "tool_result";
	// The arguments of a call may have such names of their own.
	const cleaned = (name: string, one: unknown) =>
		name === "input" ? one : clean(isResult && name === "content" ? blocksOf(one) : one);
	return Object.fromEntries(entries.map(([name, one]) => [name, cleaned(name, one)]));
}

function hash(text: string): string {
	return createHash("sha1").update(text).digest("base64");
}
