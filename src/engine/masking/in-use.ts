import { asksPerson, loadsSkill } from "../conversation/asking-tools.ts";
import type { Message } from "../conversation/transcript.ts";
import type { PairedResult } from "../conversation/turns.ts";
import { isShellName } from "./call-targets.ts";

/** A recalled result, and one that the agent asks to keep, stays in view for so many answers. */
export const callsInView = 20;

const recalling = /(?:^|[^a-z0-9])recall_original$/i;
/** In the arguments of a shell tool. */
const recallCommand = /\bpalimpsest\b[^\n]{0,200}?\srecall\s/;

/** Whether a tool is our `recall_original`, whatever name its host gives it. */
export function isRecallTool(tool: string): boolean {
	return recalling.test(tool);
}

/** The message of the answer until which something stays in view; `Infinity` before that answer. */
export function inViewUntil(from: number, calls: readonly number[]): number {
	const next = calls.findIndex((call) => call > from);
	return (next === -1 ? undefined : calls[next + callsInView]) ?? Number.POSITIVE_INFINITY;
}

/**
 * For each result, the message until which it is in use: `Infinity` for what a person answered; for the instructions of a
 * skill the person's next request but one or a later load of the same skill; for what was recalled some answers; and
 * `Infinity` until then; -1 for all others.
 */
export function usedUntil(
	messages: readonly Message[],
	paired: readonly PairedResult[],
	how: { readonly calls: readonly number[]; readonly argumentsOf: (place: number) => string | undefined },
): readonly number[] {
	const { calls, argumentsOf } = how;
	const loaded = new Map<string, number>();
	const until = paired.map(({ call }) => (asksPerson(call?.name) ? Number.POSITIVE_INFINITY : -1));
	for (const [place, { call, message }] of paired.entries()) {
		if (isRecall(call?.name ?? "", () => argumentsOf(place))) until[place] = inViewUntil(message, calls);
		if (!loadsSkill(call?.name ?? "")) continue;
		until[place] = nextRequestButOne(messages, message);
		const skill = JSON.stringify([call?.name, argumentsOf(place)]);
		const before = loaded.get(skill);
		if (before !== undefined) until[before] = Math.min(until[before] as number, message);
		loaded.set(skill, place);
	}
	return until;
}

function isRecall(tool: string, given: () => string | undefined): boolean {
	return isRecallTool(tool) || (isShellName(tool) && recallCommand.test(given() ?? ""));
}

function nextRequestButOne(messages: readonly Message[], from: number): number {
	const isRequest = ({ role, results }: Message, index: number) =>
		index > from && role === "user" && results.length === 0;
	const next = messages.findIndex(isRequest);
	const butOne = messages.findIndex((message, index) => next !== -1 && index > next && isRequest(message, index));
	return butOne === -1 ? Number.POSITIVE_INFINITY : butOne;
}
