import { markWhole, pinnedWords } from "../engine/compaction/kept-words.ts";
import { followUps } from "../engine/compaction/prompt.ts";
import { usersTexts } from "../engine/compaction/users-words.ts";
import {
	exactScale,
	highTokens,
	measure,
	scaleTokens,
	sizeOf,
	type TokenMeter,
	type TokenScale,
} from "../engine/conversation/measure.ts";
import { valueAt } from "../engine/conversation/paths.ts";
import { addSizes, type InsertEdit, noSize, type Size } from "../engine/conversation/plan.ts";
import { type Economics, economicsOf } from "../engine/conversation/report.ts";
import type { Message, Role, Transcript } from "../engine/conversation/transcript.ts";
import { type PairedResult, pairResults } from "../engine/conversation/turns.ts";
import type { LadderStep } from "../engine/guarding/guard.ts";
import { planGuardWithRepeats } from "../engine/guarding/repeats.ts";
import { pricesNow } from "../engine/masking/history.ts";
import { cleanValue } from "../engine/masking/placeholder.ts";
import { madeNow } from "../engine/masking/thinking.ts";
import type { LocaleName } from "../engine/policy/names.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { type LastResponse, withoutThinkTag } from "../formats/answer.ts";
import { type ReadConversation, readLastResponse } from "../formats/detect.ts";
import { calibrate, checkGivenTokens, type GivenTokens, mostUserTokens, openBudget } from "./context-window.ts";
import {
	type ChangeReport,
	type ConversationRequest,
	concludePlan,
	type Outcome,
	openConversation,
	retryWithoutArchive,
} from "./conversation.ts";
import { repeatedResults } from "./repeats-on-arrival.ts";
import { textLibraries } from "./text-libraries.ts";

export interface GuardRequest extends ConversationRequest, GivenTokens {
	readonly lastResponse?: unknown;
	/** Whether the conversation was sent unedited until now, so that every edit is made now. By default the policy edited it. */
	readonly sentUnedited?: boolean | undefined;
}

export interface GuardReport extends ChangeReport {
	/** Whether the upper end of the band is within the budget; `null` if no context window is known. */
	readonly fits: boolean | null;
	readonly context_window: number | null;
	readonly reserve_tokens: number;
	/** 0 or less only if the guard is turned off. */
	readonly budget_tokens: number | null;
	/** At the upper end of the band; 0 if it fits. */
	readonly shortfall_tokens: number;
	readonly steps: readonly {
		readonly step: LadderStep["step"];
		readonly count: number;
		readonly tokens_after: number;
	}[];
	/** Largest first, with sizes before any edit. */
	readonly largest: readonly Consumer[];
	readonly economics: Economics;
	/** Present if the policy limits the number of messages. */
	readonly max_messages?: { readonly limit: number; readonly messages: number; readonly reached: boolean };
	readonly follow_up?: FollowUpReport;
}

/** For people. The count of tokens beside it is the likely one. */
export function shortfallWords({ shortfall_tokens: count, band, tokens }: GuardReport): string {
	return `does not fit, ${band.high > tokens.after ? "up to " : ""}${count} tokens over`;
}

interface Consumer {
	readonly message: number;
	readonly role: Role;
	readonly tools: readonly string[];
	readonly tokens: number;
	readonly chars: number;
}

/** Only reports if the guard is off or no window is known. Throws PalimpsestError `context_window_unknown`, `no_budget`. */
export function guardConversation(request: GuardRequest): Promise<Outcome<GuardReport>> {
	return retryWithoutArchive(request, guardOnce);
}

async function guardOnce(request: GuardRequest): Promise<Outcome<GuardReport>> {
	const { log, lastResponse, idleSeconds, sentUnedited = false } = request;
	const inputTokens = checkGivenTokens(request);
	const opened = await openConversation(request);
	const { policy, window, budget } = await openBudget(request);
	const { source, transcript, meter } = opened;
	const followUp = followUpOf(lastResponse, { source, policy, meter });
	// The appended messages take their place within the budget first.
	const room = budget - scaleTokens(followUp.size, opened.estimate.scale).high;
	const measurement = measure(transcript, meter, opened.requestOverhead(meter.countTokens));
	const estimate = calibrate(opened.estimate, { transcript, measurement, inputTokens });
	const { scale } = estimate;
	const keeps = policy.compaction.keep_user_text === true;
	const most = mostUserTokens(policy, window.tokens);
	const guarding = {
		...opened,
		policy,
		budget: room,
		measurement,
		scale,
		libraries: textLibraries,
		idleSeconds,
		keeping: keeps
			? { ...source, base: source.located.base, writer: source.format.write, locale: policy.locale, most }
			: undefined,
	};
	const isOver = highTokens(measurement.total, scale) > room;
	const mostChars = policy.guard.max_tool_result_chars;
	const repeated = isOver ? repeatedResults({ ...opened, policy, countTokens: meter.countTokens, mostChars }) : [];
	const guard = planGuardWithRepeats(guarding, repeated);
	const { done, kept, outcome } = await concludePlan({ ...request, policy }, opened, {
		plan: [...guard.plan, ...followUp.edits],
		measurement,
		estimate: guard.areWordsCut ? { ...estimate, notes: [...estimate.notes, wordsWereCut] } : estimate,
		momentOf: sentUnedited ? madeNow : guard.momentOf,
		pinned: keeps && !guard.areWordsCut ? pinnedWords(markWhole(usersTexts(source).flat())) : undefined,
		notes: window.notes,
	});
	for (const note of window.notes) {
		log?.({ level: "warning", message: `Context guard: ${note}`, data: { event: "window_unknown" } });
	}
	const { report } = outcome;
	const shortfall = Math.max(0, report.band.high - budget);
	const steps = guard.steps.map(({ step, count, tokensAfter }) => ({ step, count, tokens_after: tokensAfter }));
	return {
		...outcome,
		report: {
			...report,
			fits: window.tokens === undefined ? null : shortfall === 0,
			context_window: window.tokens ?? null,
			reserve_tokens: policy.guard.reserve_tokens,
			budget_tokens: window.tokens === undefined ? null : budget,
			shortfall_tokens: shortfall,
			steps: kept ? steps : [],
			largest: largestConsumers(transcript, { sizes: measurement.messages, scale }),
			...longConversation(transcript, policy),
			...(followUp.report ? { follow_up: followUp.report } : {}),
			economics: economicsOf(done, { measurement, prices: pricesNow(transcript, policy.prices, idleSeconds), scale }),
		},
	};
}

const wordsWereCut =
	"The window is too small for everything that people wrote, so some of their messages were cut or left out.";

export function sentMessages({ messages }: Transcript): number {
	return messages.filter(({ sent }) => sent !== false).length;
}

/** docs/strategies.md#message-limit */
export function longConversation(transcript: Transcript, policy: Policy): Pick<GuardReport, "max_messages"> {
	const { max_messages: limit } = policy.guard;
	if (limit === null) return {};
	const messages = sentMessages(transcript);
	return { max_messages: { limit, messages, reached: messages >= limit } };
}

/** Largest first. `sizes` are those of the messages before any edit. */
export function largestConsumers(
	transcript: Transcript,
	given: { readonly sizes: readonly Size[]; readonly scale?: TokenScale; readonly limit?: number },
): Consumer[] {
	const { sizes, scale = exactScale, limit = 5 } = given;
	const results = pairResults(transcript);
	const toolOf = ({ call }: PairedResult) => (call?.name === undefined ? [] : [cleanValue(call.name)]);
	return sizes
		.map((size, message) => ({ size, message }))
		.sort((one, other) => other.size.tokens - one.size.tokens)
		.slice(0, limit)
		.map(({ message, size }) => ({
			message,
			role: (transcript.messages[message] as Message).role,
			tools: [...new Set(results.flatMap((one) => (one.message === message ? toolOf(one) : [])))],
			tokens: scaleTokens(size, scale).tokens,
			chars: size.chars,
		}));
}

// ---- The last answer ----

interface FollowUpReport {
	readonly appended: boolean;
	readonly why?: "not_cut" | "has_usable_call" | "guard_off";
	/** Calls with incomplete arguments, which are never passed on. */
	readonly broken_calls: number;
}

function followUpOf(
	lastResponse: unknown,
	{ source, policy, meter }: { readonly source: ReadConversation; readonly policy: Policy; readonly meter: TokenMeter },
): { readonly edits: readonly InsertEdit[]; readonly size: Size; readonly report?: FollowUpReport } {
	if (lastResponse === undefined) return { edits: [], size: noSize };
	const response = readLastResponse(lastResponse);
	const { edits, report } = planFollowUp({ source, response, locale: policy.locale, meter });
	if (report.appended && !policy.guard.enabled) {
		return { edits: [], size: noSize, report: { ...report, appended: false, why: "guard_off" } };
	}
	return { edits, report, size: edits.map(({ after }) => after).reduce(addSizes, noSize) };
}

/** Appends no reasoning and no calls: a call without a result would make the request invalid. */
function planFollowUp(given: {
	readonly source: ReadConversation;
	readonly response: LastResponse;
	readonly locale: LocaleName;
	readonly meter: TokenMeter;
}): { readonly edits: readonly InsertEdit[]; readonly report: FollowUpReport } {
	const { source, response, locale, meter } = given;
	if (!source.format.write.appends) {
		const message = `Expected \`last_response\` with the request of an API, not with a recorded session (${source.format.title}), whose program writes the messages. Leave \`last_response\` out.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const broken_calls = response.calls.filter((call) => !call.isUsable).length;
	const notAppended = (why: "not_cut" | "has_usable_call") => ({
		edits: [],
		report: { appended: false, why, broken_calls },
	});
	if (response.finishReason !== "length") return notAppended("not_cut");
	if (broken_calls < response.calls.length) return notAppended("has_usable_call");
	if (hasUnansweredCalls(source.transcript)) {
		const message =
			"Expected `last_response` with the conversation as sent in the last call. Its last message makes calls without results, and another message would separate the two. Pass the conversation without that message.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const last = source.transcript.messages.at(-1);
	const isSaid = response.text.trim() !== "" && !(last && saysNothingBut(last, response.text));
	const edits: InsertEdit[] = [];
	if (isSaid) edits.push(writeAtEnd({ role: "assistant", text: response.text, behind: last?.role, source, meter }));
	const behind = isSaid ? "assistant" : last?.role;
	edits.push(writeAtEnd({ role: "user", text: followUps[locale], behind, source, meter }));
	return { edits, report: { appended: true, broken_calls } };
}

function writeAtEnd(given: {
	readonly role: "user" | "assistant";
	readonly text: string;
	readonly behind: string | undefined;
	readonly source: ReadConversation;
	readonly meter: TokenMeter;
}): InsertEdit {
	const { role, text, behind, source, meter } = given;
	const { located, transcript, format } = source;
	const { part, message } = format.write;
	const size = sizeOf(text, meter.countTokens);
	const edit = { kind: "insert", reason: "append", before: { chars: 0, tokens: 0 } } as const;
	const end = located.messages.length - 1;
	// An API that requires user and assistant in turn refuses a second message of the same role.
	if (part && transcript.inTurn && behind === role) {
		const lists = part.lists.map((list) => [...located.base, end, ...list]);
		const list = lists.find((one) => Array.isArray(valueAt(source.document, one))) ?? [];
		const parts = valueAt(source.document, list);
		if (Array.isArray(parts) && list.length > 0) {
			const at = { path: [...list, parts.length], message: transcript.messages.length - 1, inserts: "part" } as const;
			return { ...edit, ...at, value: part.write(text), after: size };
		}
	}
	const tokens = size.tokens + meter.messageOverhead;
	return {
		...edit,
		path: [...located.base, end + 1],
		message: transcript.messages.length,
		inserts: "message",
		value: message({ role, text }),
		after: { chars: size.chars, tokens, fixed: meter.messageOverhead },
	};
}

function hasUnansweredCalls({ messages }: Transcript): boolean {
	const start = messages.findLastIndex(({ calls, results }) => calls.length > 0 || results.length === 0);
	const calls = messages[start]?.calls ?? [];
	const results = messages.slice(start).flatMap((message) => message.results);
	const answered = new Set(results.map(({ callId }) => callId));
	// Calls without ids are paired with results by number.
	const hasIds = calls.every((call) => call.id !== undefined);
	return hasIds ? calls.some((call) => !answered.has(call.id)) : results.length < calls.length;
}

function saysNothingBut(message: Message, text: string): boolean {
	if (message.role !== "assistant" || message.calls.length > 0) return false;
	const thoughts = message.thinking.map((block) => block.text);
	const said = message.counted.filter((counted) => !thoughts.includes(counted));
	const isText = (one: string) => withoutThinkTag(one).trim() === text.trim();
	// Formats count the speaker's name and additional fields as separate texts.
	return isText(said.join("")) || said.some(isText);
}
