import { keepWithin, markWhole, writeWords } from "../../engine/compaction/kept-words.ts";
import { originalsLines, writeInstructions } from "../../engine/compaction/prompt.ts";
import {
	askForBlock,
	isCompactedByProvider,
	originalOf,
	providerCompaction,
	readBlock,
} from "../../engine/compaction/provider-block.ts";
import { usersTexts } from "../../engine/compaction/users-words.ts";
import { compactJson, type JsonObject } from "../../engine/conversation/json.ts";
import { fillTemplate } from "../../engine/masking/template.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { listOf, objectOf } from "../../formats/json-text/value.ts";
import { contextWindowOfCall, mostUserTokens } from "../../operations/context-window.ts";
import { mayBeHidden } from "./clearing.ts";
import type { Composed } from "./composed.ts";
import type { Memory } from "./memory.ts";
import type { Note } from "./notes.ts";
import type { Remembered } from "./remembered.ts";
import type { HostRequest, OpenedConversation, Shared } from "./request.ts";
import { digestOf, swapFor } from "./swap.ts";

/** A request for a summary, beside those of the host. */
export interface SummaryRequest {
	readonly body: string;
	/** Takes the API's answer, or `undefined` if none came; tells why there is no summary. Never throws. */
	readonly answered: (answer: unknown) => Promise<string | undefined>;
}

/**
 * Whether the provider's summaries take the place of maskings: asked for, known to the API and its model, not refused, and the host
 * does not let the provider edit itself.
 */
export function isSummarised(
	request: Pick<HostRequest<unknown>, "body" | "model" | "takesBetas">,
	policy: Policy,
	{ refusesBlocks }: Pick<Remembered, "refusesBlocks">,
): boolean {
	const { model, takesBetas } = request;
	if (policy.compaction.by !== "provider" || takesBetas !== true || refusesBlocks || mayBeHidden(request)) return false;
	return isCompactedByProvider(model);
}

/** Shares of the window, and of a price step, at which a summary is asked for: turns that come meanwhile need room. */
const due = { ofWindow: 0.8, ofStep: 0.9 } as const;

const underWay = new WeakMap<object, Set<string>>();

/**
 * The request for a summary, if one is due after an answer to a prompt of so many tokens. The originals are archived first. It
 * has the messages as they were sent, so that the cache is read and the reasoning behind them stays valid.
 */
export async function summaryDue<Written>(
	opened: OpenedConversation,
	composed: Composed<Written>,
	about: {
		readonly request: HostRequest<Written>;
		readonly editing: Shared;
		readonly promptTokens: number;
		readonly written: string | undefined;
	},
): Promise<SummaryRequest | undefined> {
	const { request, editing, promptTokens, written } = about;
	const { policy, archive, memory } = editing;
	const { conversation, source, transcript, isHeldOut } = opened;
	const remembered = memory.recall(conversation);
	if (!request.decides || isHeldOut || !isSummarised(request, policy, remembered)) return undefined;
	const asking = underWay.get(memory) ?? new Set<string>();
	underWay.set(memory, asking);
	if (asking.has(conversation) || !(await isDue(request, policy, promptTokens))) return undefined;
	const body = objectOf(written === undefined ? request.body : JSON.parse(written));
	const { compaction } = policy;
	const messages = listOf(body.messages);
	const keep = 2 * compaction.keep_tool_groups;
	const asked = askForBlock({ body, messages, keep, maxTokens: compaction.max_summary_tokens });
	if (asked.kind === "broken") return undefined;
	const { block: sent } = composed;
	// One that came meanwhile takes its place with the next request.
	if (swapFor(request, remembered)?.block.messages !== sent?.messages) return undefined;
	const count = asked.messages + (sent ? sent.messages - 1 : 0);
	const own = listOf(objectOf(request.body).messages);
	const summarised = own.slice(0, count);
	// Where the kept messages alone are too many, a summary after each turn would not help.
	if (sent && asked.messages <= keep) return undefined;
	const text = originalOf(summarised);
	const line = archive && fillTemplate(originalsLines[policy.locale], { ref: archive.refOf(text) });
	const isIn = (index: number) => Number(transcript.messages[index]?.paths[0]?.[1]) < count;
	const said = usersTexts(source).flatMap((texts, index) => (isIn(index) ? texts : []));
	const { texts } = keepWithin({
		texts: markWhole(said),
		most: mostUserTokens(policy),
		countTokens: ({ length }) => length / 4,
		locale: policy.locale,
	});
	const words = writeWords(compaction.keep_user_text === false ? [] : texts, policy.locale);
	const endings = [line, words].filter((one) => one !== undefined);
	const { max_summary_tokens: maxTokens } = compaction;
	const how = { endings, maxTokens, locale: policy.locale, most: providerCompaction.mostInstructions };
	const summarising: JsonObject = {
		...asked.body,
		compaction: { type: "summarize", instructions: writeInstructions(how) },
	};
	asking.add(conversation);
	try {
		if (archive) await archive.put([{ kind: "group", text }]);
	} catch (error) {
		asking.delete(conversation);
		throw error;
	}
	const system = summarised.flatMap((message) => (objectOf(message).role === "system" ? systemText(message) : []));
	return {
		body: compactJson(summarising),
		async answered(answer) {
			asking.delete(conversation);
			const number = memory.recall(conversation).requests;
			const read = readBlock(answer);
			// Where redaction takes something out, another process could not send the same.
			const isRedacted = read.kind === "block" && !memory.isStorable(compactJson(read.message));
			if (read.kind === "none" || isRedacted) {
				memory.noteHere(conversation, { number, refusesBlocks: true });
				await noteQuietly(memory, conversation, { number, refusesBlocks: true });
				return read.kind === "none" ? read.reason : "redacted";
			}
			const lacks = [...endings.filter((one) => !read.text.includes(one.trim())), ...system].join("\n\n");
			const block = { messages: count, digest: digestOf(summarised), message: read.message, lacks };
			// Only what every process can read is sent.
			return (await noteQuietly(memory, conversation, { number, block })) ? undefined : "memory";
		},
	};
}

/** A block ends the instructions of system messages that it replaces, so they are said again, in the tags that Claude Code uses. */
function systemText(message: unknown): string[] {
	const { content } = objectOf(message);
	const texts =
		typeof content === "string" ? [content] : listOf(content).map((one) => String(objectOf(one).text ?? ""));
	return texts.filter((text) => text.trim() !== "").map((text) => `<system-reminder>\n${text}\n</system-reminder>`);
}

async function isDue({ model, terms }: HostRequest<unknown>, policy: Policy, promptTokens: number): Promise<boolean> {
	const window = await contextWindowOfCall({ contextWindow: undefined, policy, model });
	const room = window && window.tokens - policy.guard.reserve_tokens;
	const steps = terms.prices.steps.map(({ over }) => due.ofStep * over);
	const limits = [...(room === undefined ? [] : [due.ofWindow * room]), ...steps];
	return limits.some((limit) => promptTokens >= limit);
}

async function noteQuietly(memory: Memory, conversation: string, note: Note): Promise<boolean> {
	try {
		await memory.note(conversation, note);
		return true;
	} catch {
		return false;
	}
}
