import { asksPerson, loadsSkill } from "../conversation/asking-tools.js";
import { isShellName } from "./call-targets.js";
/** A recalled result, and one that the agent asks to keep, stays in view for so many answers. */
export const callsInView = 20;
const recalling = /(?:^|[^a-z0-9])recall_original$/i;
/** In the arguments of a shell tool. */
const recallCommand = /\bpalimpsest\b[^\n]{0,200}?\srecall\s/;
/** Whether a tool is our `recall_original`, whatever name its host gives it. */
export function isRecallTool(tool) {
	return recalling.test(tool);
}
/** The message of the answer until which something stays in view; `Infinity` before that answer. */
export function inViewUntil(from, calls) {
	const next = calls.findIndex((call) => call > from);
	return (next === -1 ? undefined : calls[next + callsInView]) ?? Number.POSITIVE_INFINITY;
}
/**
 * For each result, the message until which it is in use: `Infinity` for what a person answered; for the instructions of a
 * skill the person's next request but one or a later load of the same skill; for what was recalled some answers; and
 * `Infinity` until then; -1 for all others.
 */
export function usedUntil(messages, paired, how) {
	const { calls, argumentsOf } = how;
	const loaded = new Map();
	const until = paired.map(({ call }) => (asksPerson(call?.name) ? Number.POSITIVE_INFINITY : -1));
	for (const [place, { call, message }] of paired.entries()) {
		if (isRecall(call?.name ?? "", () => argumentsOf(place))) until[place] = inViewUntil(message, calls);
		if (!loadsSkill(call?.name ?? "")) continue;
		until[place] = nextRequestButOne(messages, message);
		const skill = JSON.stringify([call?.name, argumentsOf(place)]);
		const before = loaded.get(skill);
		if (before !== undefined) until[before] = Math.min(until[before], message);
		loaded.set(skill, place);
	}
	return until;
}
function isRecall(tool, given) {
	return isRecallTool(tool) || (isShellName(tool) && recallCommand.test(given() ?? ""));
}
function nextRequestButOne(messages, from) {
	const isRequest = ({ role, results }, index) => index > from && role === "user" && results.length === 0;
	const next = messages.findIndex(isRequest);
	const butOne = messages.findIndex((message, index) => next !== -1 && index > next && isRequest(message, index));
	return butOne === -1 ? Number.POSITIVE_INFINITY : butOne;
}
