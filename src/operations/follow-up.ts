import { followUps } from "../compaction/prompt.ts";
import { sizeOf, type TokenMeter } from "../conversation/measure.ts";
import { addSizes, type InsertEdit, noSize, type Size } from "../conversation/plan.ts";
import { type Message, type Transcript, valueAt } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { type LastResponse, withoutThinkTag } from "../formats/answer.ts";
import { type ReadConversation, readLastResponse } from "../formats/detect.ts";
import type { LocaleName } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";

export interface FollowUpReport {
	readonly appended: boolean;
	readonly why?: "not_cut" | "has_usable_call" | "guard_off";
	/** Calls with incomplete arguments, which are never passed on. */
	readonly broken_calls: number;
}

export function followUpOf(
	lastResponse: unknown,
	{ source, policy, meter }: { readonly source: ReadConversation; readonly policy: Policy; readonly meter: TokenMeter },
): Partial<FollowUp> & { readonly edits: readonly InsertEdit[]; readonly size: Size } {
	if (lastResponse === undefined) return { edits: [], size: noSize };
	const response = readLastResponse(lastResponse);
	const { edits, report } = planFollowUp({ source, response, locale: policy.locale, meter });
	if (report.appended && !policy.guard.enabled) {
		return { edits: [], size: noSize, report: { ...report, appended: false, why: "guard_off" } };
	}
	return { edits, report, size: edits.map(({ after }) => after).reduce(addSizes, noSize) };
}

interface FollowUp {
	readonly edits: readonly InsertEdit[];
	readonly report: FollowUpReport;
}

/** Appends no reasoning and no calls: a call without a result would make the request invalid. */
export function planFollowUp(given: {
	readonly source: ReadConversation;
	readonly response: LastResponse;
	readonly locale: LocaleName;
	readonly meter: TokenMeter;
}): FollowUp {
	const { source, response, locale, meter } = given;
	if (!source.format.write.appends) {
		const message = `Expected \`last_response\` with the request of an API, not with a recorded session (${source.format.title}), whose program writes its messages. Leave \`last_response\` out.`;
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
			"Expected with `last_response` the conversation as it was sent in the last call; its last message makes calls that have no results, and a message behind them would leave them without. Pass the conversation without that message.";
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
	const list = part && [...located.base, end, ...part.list];
	const parts = list && valueAt(source.document, list);
	// An API that wants user and assistant in turn refuses a second message of the same role.
	if (part && list && Array.isArray(parts) && behind === role) {
		const path = [...list, parts.length];
		const at = { path, message: transcript.messages.length - 1, inserts: "part" } as const;
		return { ...edit, ...at, value: part.write(text), after: size };
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
	let results = 0;
	const answered = new Set<string | undefined>();
	for (const message of messages.toReversed()) {
		results += message.results.length;
		for (const { callId } of message.results) answered.add(callId);
		if (message.calls.length > 0) {
			// Calls without ids are paired with results by number.
			const hasIds = message.calls.every((call) => call.id !== undefined);
			return hasIds ? !message.calls.every((call) => answered.has(call.id)) : results < message.calls.length;
		}
		if (message.results.length === 0) return false;
	}
	return false;
}

function saysNothingBut(message: Message, text: string): boolean {
	if (message.role !== "assistant" || message.calls.length > 0) return false;
	const thoughts = message.thinking.map((block) => block.text);
	const said = message.counted.filter((counted) => {
		const thought = thoughts.indexOf(counted);
		if (thought !== -1) thoughts.splice(thought, 1);
		return thought === -1;
	});
	const isText = (one: string) => withoutThinkTag(one).trim() === text.trim();
	// Formats count the speaker's name and additional fields as separate texts.
	return isText(said.join("")) || said.some(isText);
}
