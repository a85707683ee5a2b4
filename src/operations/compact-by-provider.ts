import { writeWords } from "../engine/compaction/kept-words.ts";
import { lostIdentifiers, textsOfMessages } from "../engine/compaction/lost-identifiers.ts";
import { originalsLines, writeInstructions } from "../engine/compaction/prompt.ts";
import {
	askForBlock,
	conditionWords,
	originalOf,
	providerCompaction,
	readBlock,
} from "../engine/compaction/provider-block.ts";
import { planRewrite } from "../engine/compaction/rewrite-edits.ts";
import { compactJson, isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { scaleTokens, sizeOf } from "../engine/conversation/measure.ts";
import { valueAt } from "../engine/conversation/paths.ts";
import { addSizes, noSize, type Size } from "../engine/conversation/plan.ts";
import { resultText } from "../engine/conversation/transcript.ts";
import { pairResults } from "../engine/conversation/turns.ts";
import { type AskedCall, askedCalls } from "../engine/masking/asked.ts";
import { fillTemplate } from "../engine/masking/template.ts";
import { PalimpsestError } from "../errors.ts";
import { sha256Of } from "../formats/json-text/value.ts";
import { modelOfCall } from "../formats/model.ts";
import { keepsWords, wordsOf } from "./compact-by-summary.ts";
import {
	type CompactRequest,
	type OpenedCompaction,
	type PlannedCompaction,
	type SummaryReport,
	unchanged,
} from "./compaction-request.ts";

/** docs/compaction.md#provider */
export async function planProvider(request: CompactRequest, opened: OpenedCompaction): Promise<PlannedCompaction> {
	const { answer, policy, archive } = request;
	const { transcript, located, format, document } = opened.source;
	const parent = located.base.at(-1) === "messages" ? valueAt(document, located.base.slice(0, -1)) : undefined;
	const isBody = isJsonObject(parent);
	if (format.name !== "anthropic-messages") {
		const message = `The strategy provider needs the format anthropic-messages, or a request body of Claude's Messages API; this is ${format.name}. The proxy does it for a program's own requests (compaction.by = "provider").`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const model = modelOfCall(request.model, document, policy);
	const body: JsonObject = { ...(isBody ? parent : {}), ...(model === undefined ? {} : { model }) };
	const at = answer.kind === "given" ? messagesOfToken(located.messages, answer.token) : undefined;
	const asked = askForBlock({ body, messages: located.messages, at, keep: policy.compaction.keep_last_messages });
	if (asked.kind === "broken") {
		if (asked.conditions.every((one) => one === "nothing_to_summarise")) return unchanged;
		const said = asked.conditions.map((one) => `${one} (${conditionWords[one]})`).join(", ");
		const message = `The provider would not summarise this conversation, which is unchanged: ${said}.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const summarised = located.messages.slice(0, asked.messages);
	const range = {
		messages: transcript.messages.flatMap(({ paths }, index) =>
			Number(paths[0]?.[located.base.length]) < asked.messages ? [index] : [],
		),
	};
	const text = originalOf(summarised);
	const line = archive && fillTemplate(originalsLines[policy.locale], { ref: archive.refOf(text) });
	const endings = endingsOf(request, opened, { range, line });
	const token = `0-${asked.messages - 1}-${digestOf(summarised)}`;
	const { max_summary_tokens: maxTokens } = policy.compaction;
	const instructions = writeInstructions({
		...{ endings, maxTokens, locale: policy.locale, most: providerCompaction.mostInstructions },
	});
	const provider_request = {
		beta: asked.beta,
		body: { ...asked.body, compaction: { type: "summarize", instructions } },
	};
	const before = range.messages.map((index) => opened.measurement.messages[index] ?? noSize).reduce(addSizes, noSize);
	const tokens = (size: Size) => scaleTokens(size, opened.scale).tokens;
	if (answer.kind === "caller" || answer.kind === "none") {
		const messages = { first: 0, last: asked.messages - 1, count: asked.messages, tokens: tokens(before) };
		return {
			result: "summary_requested",
			request: {
				summary_token: token,
				prompt: `Send provider_request.body to the Messages API with the header anthropic-beta: ${asked.beta}. Its answer, as JSON, is the summary.`,
				provider_request,
				max_summary_tokens: maxTokens,
				messages,
			},
		};
	}
	const answered = readBlock(
		parseJson(answer.kind === "given" ? answer.summary : await send(request, answer.summariser, provider_request.body)),
	);
	if (answered.kind === "none") {
		const message = `The provider wrote no summary (${answered.reason}), and the conversation is unchanged. ${answered.advice}`;
		throw new PalimpsestError("summary_refused", message);
	}
	const missing = endings.filter((ending) => !answered.text.includes(ending.trim()));
	const kept = located.messages.slice(asked.messages);
	const said = withText(kept, missing.join("\n\n"), opened.bindsReasoning);
	const ends = isUser(said.messages.at(-1));
	// The block ends the instructions of earlier system messages: they are said again, behind all reasoning that is kept.
	const system = summarised.filter((message) => isJsonObject(message) && message.role === "system");
	const after = [answered.message, ...said.messages, ...(ends ? system : [])];
	const sizeOfValue = (value: unknown) => sizeOf(compactJson(value), opened.meter.countTokens);
	const source = { transcript, base: located.base, messages: located.messages };
	const rewrite = planRewrite({ source, after, sizes: opened.measurement.messages, sizeOf: sizeOfValue });
	if (rewrite.kind !== "rewrite") throw new PalimpsestError("summary_refused", "The block could not be put in.");
	const [first, ...others] = rewrite.plan;
	const takenOut = archive && ({ kind: "group", text, ref: archive.refOf(text) } as const);
	const texts = textsOfMessages(transcript, range.messages);
	const shown = [answered.text, ...(said.isPlaced ? missing : [])].join("\n");
	const { lost, found, lostCount } = lostIdentifiers({ texts, summary: shown });
	const summary: SummaryReport = {
		by: "provider",
		messages: range.messages.length,
		tokens: { before: tokens(before), after: opened.meter.countTokens(answered.text) },
		...(takenOut ? { ref: takenOut.ref } : {}),
		parts: 1,
		lost_identifiers: lost.map(({ text: name, kind }) => ({ text: name, kind })),
		identifiers: { found, lost: lostCount },
	};
	return {
		edits: first ? [takenOut ? { ...first, takenOut } : first, ...others] : [],
		result: "summarised",
		swap: { messages: range.messages.length },
		summary,
		notes: [
			...(said.isPlaced
				? []
				: ["Begin the next user message with the lines that the summary lacks, and that no kept message can take."]),
			...(system.length > 0 && !ends ? ["Say the summarised system messages again behind the next user message."] : []),
			`Send the header anthropic-beta: ${asked.beta} with every request that carries the block.`,
		],
	};
}

/**
 * The end of the summary: the line with the reference, the words of people, and the results that the agent asked to keep. If the
 * instructions have no room for all, the last are left out.
 */
function endingsOf(
	request: CompactRequest,
	opened: OpenedCompaction,
	{ range, line }: { readonly range: { readonly messages: readonly number[] }; readonly line: string | undefined },
): readonly string[] {
	const { policy, archive } = request;
	const { transcript } = opened.source;
	const paired = pairResults(transcript);
	const asked = askedCalls(transcript, paired).filter(({ kind }) => kind === "keep");
	const gone = new Set(range.messages);
	const kept = paired.flatMap(({ result, message }) => {
		const text = resultText(result);
		const isNamed = ({ callIds, refs }: AskedCall) =>
			callIds.has(result.callId ?? "") || (archive !== undefined && refs.size > 0 && refs.has(archive.refOf(text)));
		return gone.has(message) && asked.some(isNamed) ? [text] : [];
	});
	const earlier = { message: -1, frames: [], text: "" };
	const { texts } = keepsWords(request) ? wordsOf(policy, opened, { range, earlier }).words : { texts: [] };
	const words = writeWords(texts, policy.locale);
	return [...(line === undefined ? [] : [line]), ...(words === undefined ? [] : [words]), ...kept];
}

function send(
	{ policy, signal, onProgress }: CompactRequest,
	summariser: Extract<CompactRequest["answer"], { kind: "summariser" }>["summariser"],
	body: JsonObject,
): Promise<string> {
	const { max_summary_tokens: maxTokens } = policy.compaction;
	const request = { prompt: compactJson(body), maxTokens, locale: policy.locale, signal, onProgress };
	return summariser.summarise(request).then(({ text }) => text);
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new PalimpsestError("summary_refused", "Expected the provider's answer as JSON, got something else.");
	}
}

/**
 * Adds a text to the first kept message of the user; where the model binds reasoning, to the last message, if it is the
 * user's, so that it changes nothing before kept reasoning.
 */
function withText(kept: readonly unknown[], text: string, bindsReasoning: boolean) {
	if (text === "") return { messages: kept, isPlaced: true };
	const at = bindsReasoning ? (isUser(kept.at(-1)) ? kept.length - 1 : -1) : kept.findIndex(isUser);
	const message = kept[at];
	if (!isJsonObject(message)) return { messages: kept, isPlaced: false };
	const { content } = message;
	const added = { type: "text", text };
	const blocks =
		typeof content === "string" ? `${content}\n\n${text}` : [...(Array.isArray(content) ? content : []), added];
	return { messages: kept.with(at, { ...message, content: blocks }), isPlaced: true };
}

function isUser(message: unknown): boolean {
	return isJsonObject(message) && message.role === "user";
}

const digestLength = 12;

function digestOf(messages: readonly unknown[]): string {
	return sha256Of(compactJson(messages)).slice(0, digestLength);
}

function messagesOfToken(messages: readonly unknown[], token: string | undefined): number {
	const last = Number(/^0-(\d{1,9})-[0-9a-f]{12}$/.exec(token ?? "")?.[1] ?? Number.NaN);
	if (Number.isNaN(last)) {
		const message = "Expected `summary_token` exactly as the request for the provider's summary gave it.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const count = last + 1;
	if (`0-${last}-${digestOf(messages.slice(0, count))}` === token) return count;
	const message =
		"The summarised messages of this conversation have changed. Call again without `summary` for a new request.";
	throw new PalimpsestError("stale_edit", message);
}
