import { createHash } from "node:crypto";
import { blocksOf, withoutBillingHeader } from "./bound-prefix.ts";

/** An API of a provider. */
export type Api = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

/** Input tokens of one request, by how a provider bills them. */
export interface InputUsage {
	/** Neither read from the cache nor written to it. */
	readonly uncached: number;
	readonly cacheRead: number;
	/** Written for five minutes. */
	readonly written: number;
	/** Written for an hour. */
	readonly writtenForAnHour: number;
}

/** A part of a prompt in the order in which the provider reads it: tools, system, then the messages. */
interface PromptBlock {
	readonly text: string;
	/** Lifetime of the cache entry that the client asks for at the end of this block. */
	readonly lifetimeMs: number | undefined;
	/** Where the bytes of a block do not say how many tokens it has. */
	readonly tokens?: number | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** Tokens of a block whose bytes do not say it, such as thinking that is not shown. */
export type TokensOfBlock = (block: Json) => number | undefined;

const minute = 60_000;
const shortLifetime = 5 * minute;
const longLifetime = 60 * minute;
/** Anthropic looks for an entry at this many blocks before a breakpoint. */
const lookBack = 20;
/** OpenAI caches prompts of at least 1 024 tokens, in steps of 128. */
const [leastTokens, stepTokens] = [1024, 128];
const bytesPerToken = 4;

/**
 * A provider's prompt cache. It knows nothing but the bytes of the requests: a token is four bytes. Sources:
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching (breakpoints, 20 blocks, 5 minutes or 1 hour from the
 * last use) and https://platform.openai.com/docs/guides/prompt-caching (1 024 tokens, steps of 128, 5 minutes).
 */
export function createProviderCache(now: () => number, tokensOf: TokensOfBlock = () => undefined) {
	/** When an entry expires, by the hash of the whole prefix. */
	const entries = new Map<string, { readonly lifetimeMs: number; expires: number }>();
	const isWarm = (key: string) => (entries.get(key)?.expires ?? 0) > now();
	const touch = (key: string) => {
		const entry = entries.get(key);
		if (entry) entry.expires = now() + entry.lifetimeMs;
	};
	const write = (key: string, lifetimeMs: number) => entries.set(key, { lifetimeMs, expires: now() + lifetimeMs });

	return function use(api: Api, model: string, body: Json): InputUsage {
		const blocks = promptBlocks(api, body, tokensOf);
		return api === "anthropic" ? useBreakpoints(model, blocks) : useLongestPrefix(`${api} ${model}`, blocks);
	};

	function useBreakpoints(model: string, blocks: readonly PromptBlock[]): InputUsage {
		const prefixes = prefixesOf(model, blocks);
		const total = prefixes.at(-1)?.tokens ?? 0;
		const breakpoints = blocks.flatMap(({ lifetimeMs }, index) => (lifetimeMs === undefined ? [] : [index]));
		let found = -1;
		for (const breakpoint of breakpoints) {
			for (let index = breakpoint; index > Math.max(found, breakpoint - lookBack); index -= 1) {
				if (!isWarm(prefixes[index]?.key ?? "")) continue;
				found = index;
				break;
			}
		}
		if (found >= 0) touch(prefixes[found]?.key ?? "");
		const cacheRead = found < 0 ? 0 : (prefixes[found]?.tokens ?? 0);
		let [written, writtenForAnHour, reached] = [0, 0, cacheRead];
		for (const breakpoint of breakpoints) {
			const { key, tokens } = prefixes[breakpoint] as Prefix;
			const lifetimeMs = blocks[breakpoint]?.lifetimeMs ?? shortLifetime;
			if (isWarm(key)) touch(key);
			else write(key, lifetimeMs);
			if (tokens <= reached) continue;
			if (lifetimeMs === longLifetime) writtenForAnHour += tokens - reached;
			else written += tokens - reached;
			reached = tokens;
		}
		return { uncached: total - reached, cacheRead, written, writtenForAnHour };
	}

	function useLongestPrefix(scope: string, blocks: readonly PromptBlock[]): InputUsage {
		const bytes = Buffer.from(blocks.map(({ text }) => text).join("\n"), "utf8");
		const total = Math.ceil(bytes.length / bytesPerToken);
		const step = stepTokens * bytesPerToken;
		const keys: string[] = [];
		let key = scope;
		for (let end = step; end <= bytes.length; end += step) {
			key = hash(key, bytes.subarray(end - step, end));
			keys.push(key);
		}
		const firstCold = keys.findIndex((one) => !isWarm(one));
		const warm = (firstCold === -1 ? keys.length : firstCold) * stepTokens;
		for (const one of keys) write(one, shortLifetime);
		const cacheRead = warm < leastTokens ? 0 : warm;
		const cacheable = total < leastTokens ? 0 : keys.length * stepTokens;
		const written = Math.max(0, cacheable - cacheRead);
		return { uncached: total - cacheRead - written, cacheRead, written, writtenForAnHour: 0 };
	}
}

interface Prefix {
	readonly key: string;
	readonly tokens: number;
}

function prefixesOf(scope: string, blocks: readonly PromptBlock[]): Prefix[] {
	let key = scope;
	let bytes = 0;
	return blocks.map(({ text, tokens }) => {
		key = hash(key, text);
		bytes += tokens === undefined ? Buffer.byteLength(text) : tokens * bytesPerToken;
		return { key, tokens: Math.ceil(bytes / bytesPerToken) };
	});
}

function hash(before: string, text: string | Uint8Array): string {
	return createHash("sha1").update(before).update("\n").update(text).digest("base64");
}

/** Tokens of a request that asks for a count only. */
export function promptTokens(api: Api, body: Json, tokensOf: TokensOfBlock = () => undefined): number {
	return prefixesOf("", promptBlocks(api, body, tokensOf)).at(-1)?.tokens ?? 0;
}

function promptBlocks(api: Api, body: Json, tokensOf: TokensOfBlock): PromptBlock[] {
	if (api === "anthropic") return anthropicBlocks(body, tokensOf);
	if (api === "openai-chat") return [body.tools, ...list(body.messages)].map(plainBlock);
	if (api === "openai-responses") return [body.tools, body.instructions, ...list(body.input)].map(plainBlock);
	return [body.tools, body.systemInstruction, ...list(body.contents)].map(plainBlock);
}

function anthropicBlocks(body: Json, tokensOf: TokensOfBlock): PromptBlock[] {
	const ofMessages = list(body.messages).flatMap((message) => {
		const { role, content } = message as Json;
		return blocksOf(content).map((block) => ({ ...markedBlock(block, `${role}:`), tokens: tokensOf(block) }));
	});
	const system = withoutBillingHeader(blocksOf(body.system));
	const blocks = [...list(body.tools), ...system].map((block) => markedBlock(block, ""));
	const all = [...blocks, ...ofMessages];
	const last = all.at(-1);
	// A mark on the request itself stands for one on its last block.
	if (last && body.cache_control) all[all.length - 1] = { ...last, lifetimeMs: lifetimeOf(body.cache_control) };
	return all;
}

/** Marks move from request to request and are no part of what is cached. */
function markedBlock(block: unknown, frame: string): PromptBlock {
	const { cache_control, ...rest } = block as Json;
	const lifetimeMs = cache_control ? lifetimeOf(cache_control) : undefined;
	return { text: frame + JSON.stringify(rest), lifetimeMs };
}

function lifetimeOf(control: unknown): number {
	return (control as Json).ttl === "1h" ? longLifetime : shortLifetime;
}

function plainBlock(value: unknown): PromptBlock {
	return { text: JSON.stringify(value ?? null), lifetimeMs: undefined };
}

/** A text stands for a list of one. */
function list(value: unknown): readonly unknown[] {
	if (value === undefined || value === null) return [];
	return Array.isArray(value) ? value : [value];
}
