import { planRewrite } from "../../engine/compaction/plan-rewrite.ts";
import type { CompactionContext, CompactionStrategy } from "../../engine/compaction/strategy.ts";
import type { Size } from "../../engine/edit.ts";
import { measure, sizeOf } from "../../engine/measure.ts";
import { valueAt } from "../../engine/path.ts";
import { compactJson } from "../../engine/stringify.ts";
import { scaleTokens } from "../../engine/token-scale.ts";
import { PalimpsestError } from "../../errors.ts";
import { locateMessages } from "../../formats/read-conversation.ts";
import type { CompactRequest, StrategyOfCall } from "./compact-request.ts";
import type { OpenedCompaction } from "./open-compaction.ts";
import type { PlannedCompaction } from "./planned-compaction.ts";
import { strategyLlm } from "./strategy-llm.ts";
import { unlessAborted } from "./unless-aborted.ts";

/**
 * Lets a strategy of the user's own rewrite the messages, and makes edits of the difference.
 *
 * @throws PalimpsestError `strategy_failed` where it throws or returns something else than messages.
 */
export async function planExternal(
	request: CompactRequest & { readonly strategy: Extract<StrategyOfCall, { kind: "external" }> },
	opened: OpenedCompaction,
): Promise<PlannedCompaction> {
	const { name, strategy } = request.strategy;
	const { source, measurement } = opened;
	const { located, format, transcript } = source;
	const after = await run(strategy, name, contextOf(request, opened));
	const { messages } = located;
	const { links } = format;
	// A record that is written anew under its own id stays in the place where others are tied to it.
	const identityOf = (value: unknown) => {
		const id = links && valueAt(value, links.id);
		return typeof id === "string" ? id : undefined;
	};
	const rewrite = planRewrite({
		source: { transcript, base: located.base, messages },
		after,
		sizes: measurement.messages,
		sizeOf: (value) => sizeOfValue(value, opened),
		identityOf,
	});
	switch (rewrite.kind) {
		case "unchanged":
			return { kind: "unchanged" };
		case "refused":
			throw failed(name, `${rewrite.detail} It is to return messages of the format ${format.name}, or null.`);
		case "rewrite":
			return { kind: "edits", edits: rewrite.plan, result: "rewritten" };
	}
}

function contextOf(request: CompactRequest, opened: OpenedCompaction): CompactionContext {
	const { answer, policy, signal, onProgress } = request;
	const { source, measurement, scale, contextWindow, reserveTokens } = opened;
	return {
		// By way of JSON, so that what the strategy does to it changes nothing here.
		history: JSON.parse(compactJson(source.located.messages)),
		format: source.format.name,
		token_count: scaleTokens(measurement.total, scale).high,
		max_context_size: contextWindow ?? Number.POSITIVE_INFINITY,
		reserved_context_size: reserveTokens,
		llm: strategyLlm({ answer, policy, signal, onProgress }),
		signal,
	};
}

async function run(strategy: CompactionStrategy, name: string, context: CompactionContext): Promise<unknown> {
	context.signal?.throwIfAborted();
	try {
		// A strategy need not heed the signal.
		return await unlessAborted(strategy.compact(context), context.signal);
	} catch (error) {
		context.signal?.throwIfAborted();
		if (error instanceof PalimpsestError) throw error;
		// Its message may quote the conversation.
		throw failed(name, `It threw ${error instanceof Error ? error.name : `a ${typeof error}`}.`, error);
	}
}

function failed(name: string, detail: string, cause?: unknown): PalimpsestError {
	const message = `The compaction strategy ${JSON.stringify(name)} failed, and the conversation was left as it was. ${detail}`;
	return new PalimpsestError("strategy_failed", message, cause === undefined ? undefined : { cause });
}

/** Size of a value that a strategy wrote, as a message where it is one by itself. */
function sizeOfValue(value: unknown, { source, meter }: OpenedCompaction): Size {
	const { messages } = source.format.read(locateMessages([value]));
	if (messages.length === 0) return sizeOf(compactJson(value), meter.countTokens);
	return measure({ ...source.transcript, messages, surroundings: [] }, meter).total;
}
