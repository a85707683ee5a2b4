import type { Prices } from "../../engine/policy/schema.ts";
import { type BreakCause, breakDollars, isLoss } from "../../proxy/billing/cache-break.ts";
import { type CacheTerms, cacheTerms } from "../../proxy/billing/terms.ts";
import { dollarsOf, dollarsOfAnswer, inputBill, promptTokens } from "../../proxy/billing/usage.ts";
import { type Figure, isPlainName } from "../../storage/figures/line.ts";

/** What an answer cost, as Claude Code reports it for each step of a turn. */
export interface StepUsage {
	readonly model: string;
	readonly input_tokens: number;
	readonly output_tokens: number;
	readonly cache_read_input_tokens?: number | null | undefined;
	readonly cache_creation_input_tokens?: number | null | undefined;
	readonly ephemeral_1h_input_tokens?: number | null | undefined;
}

/** No price of the policy: those of the model count (docs/tokens.md). */
const usualPrices = { input: 1, output: 5, cache_read: 0.1, cache_write: 1.25 } as Prices;

function termsOf(model: string, at: number, isForHour: boolean): CacheTerms {
	const marked = { cache_control: { type: "ephemeral", ...(isForHour ? { ttl: "1h" } : {}) } };
	return cacheTerms(marked, "anthropic", usualPrices, { model, at });
}

/** US dollars for tokens that a provider writes to its cache again; `undefined` if the price of the model is unknown. */
export function dollarsOfWriting(tokens: number, model: string, at: number): number | undefined {
	const terms = termsOf(model, at, false);
	return dollarsOf(inputBill({ input: 0, cacheRead: 0, cacheWrite: tokens, output: 0 }, terms), terms);
}

interface SeenAnswer {
	readonly at: number;
	readonly model: string | undefined;
	readonly effort: string | undefined;
	/** Tokens that the provider has cached. */
	readonly cached: number;
	/** In ms. */
	readonly lifetime: number;
	/** Why the next request reads less, where that is known before. */
	readonly known?: BreakCause;
}

/** Subagents that are remembered: they end without a word. */
const mostAgents = 200;

/**
 * Turns the answers of a session into figures: each request, and each time that less was read from the provider's cache than was sent
 * before. A mod sees no request, so that only a pause, another model, another effort and our own masking are told as causes.
 */
export function startRequests() {
	const seen = new Map<string, SeenAnswer>();
	return {
		/** An answer of the model; `agent` names the subagent that asked, and `agentId` tells two of a name apart. */
		answered(
			usage: StepUsage,
			about: {
				readonly agentId?: string | undefined;
				readonly agent?: string | undefined;
				readonly effort?: string | undefined;
				readonly at: number;
			},
		): readonly Figure[] {
			const { agentId = "", effort, at } = about;
			const forHour = usage.ephemeral_1h_input_tokens ?? 0;
			const terms = termsOf(usage.model, at, forHour > 0);
			const counts = {
				input: usage.input_tokens,
				cacheRead: usage.cache_read_input_tokens ?? 0,
				cacheWrite: usage.cache_creation_input_tokens ?? 0,
				cacheWriteForHour: forHour,
				output: usage.output_tokens,
			};
			const before = seen.get(agentId);
			const cached = counts.cacheRead + counts.cacheWrite;
			const model = plain(usage.model);
			seen.delete(agentId);
			seen.set(agentId, { at, model, effort, cached, lifetime: terms.lifetime });
			const [oldest] = seen.keys();
			if (seen.size > mostAgents && oldest !== undefined) seen.delete(oldest);
			const request: Figure = {
				kind: "request",
				model,
				input: counts.input,
				read: counts.cacheRead,
				write: counts.cacheWrite,
				output: counts.output,
				left_out: 0,
				billed: inputBill(counts, terms),
				usd: dollarsOfAnswer(counts, terms),
				agent: about.agent === undefined ? undefined : (plain(about.agent) ?? "unnamed"),
			};
			if (before === undefined || !isLoss(before.cached - counts.cacheRead, before.cached)) return [request];
			const tokens = Math.min(before.cached, promptTokens(counts)) - counts.cacheRead;
			if (!isLoss(tokens, before.cached)) return [request];
			const cause = causeOf(before, { model, effort, at });
			return [request, { kind: "break", model, cause, tokens, usd: breakDollars(tokens, counts, terms) }];
		},
		/** A session goes on that an earlier process has left, and whose cache, of so many tokens, has expired. */
		resumedCold(cached: number, at: number): void {
			seen.set("", { at, model: undefined, effort: undefined, cached, lifetime: 0, known: "pause" });
		},
		/** The program has another history now. If that is of our masking, the next request pays for it. */
		compacted(by: "mod" | "program", agentId = ""): void {
			const before = seen.get(agentId);
			if (by === "mod" && before) seen.set(agentId, { ...before, known: "masking" });
			else seen.delete(agentId);
		},
	};
}

function causeOf(before: SeenAnswer, now: Pick<SeenAnswer, "model" | "effort" | "at">): BreakCause {
	if (before.known !== undefined) return before.known;
	if (now.at - before.at > before.lifetime) return "pause";
	if (before.model !== now.model) return "model";
	return before.effort === now.effort ? "unknown" : "effort";
}

/** A name that may hold anything else is left out. */
const plain = (name: string) => (isPlainName(name) ? name : undefined);
