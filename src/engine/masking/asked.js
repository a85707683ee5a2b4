import { isJsonObject } from "../conversation/json.js";
import { resultText } from "../conversation/transcript.js";
import { callArguments, toolTurns } from "../conversation/turns.js";
import { inViewUntil } from "./in-use.js";
/** The first words of our server's answer to such a call. It stays so where nothing replaces it. */
export const unseenAnswer = "Nothing was masked: this conversation does not pass a Palimpsest proxy or plugin";
/** With the words of earlier versions, which sessions still hold. */
const unseenAnswers = [
	unseenAnswer,
	"This answer has not passed a proxy or plugin of Palimpsest, so nothing was looked up or masked.",
];
/** By default, the results of the last turn before the call stay. */
const usualKeepTurns = 1;
const named = /(?:^|[^a-z0-9])(?<tool>mask_conversation|guard_context)$/i;
/** The calls that our server has answered, in their order. The answer of another server, or of an older one, counts as none. */
export function askedCalls({ messages }, paired) {
	return paired.flatMap(({ result, call, caller }, place) => {
		const tool = call && named.exec(call.name ?? "")?.groups?.tool?.toLowerCase();
		if (tool === undefined || caller === undefined || !isUnseen(resultText(result))) return [];
		const message = messages[caller];
		const given = message && call && readArguments(callArguments(message)[message.calls.indexOf(call)]);
		if (!given || given.messages !== undefined || given.path !== undefined) return [];
		const kind = tool === "guard_context" ? "state" : given.keep === true ? "keep" : "mask";
		const { keep_turns: keepTurns } = given;
		return [
			{
				kind,
				place,
				caller,
				refs: new Set(textsIn(given.refs).map(plainRef)),
				callIds: new Set(textsIn(given.tool_call_ids)),
				tools: new Set(textsIn(given.tools)),
				keepTurns: typeof keepTurns === "number" ? keepTurns : undefined,
			},
		];
	});
}
function isUnseen(text) {
	return unseenAnswers.some((words) => text.includes(words));
}
/**
 * A function of the history up to the call, so every process finds the same. A reference, an id or a tool names its results,
 * whatever they are.
 */
export function askedResults({ refs, callIds, tools, keepTurns, caller }, history) {
	const { transcript, paired, results, refsOf } = history;
	const turns = toolTurns(transcript).filter((message) => message < caller);
	const namesTools = tools.size > 0;
	const namesResults = refs.size + callIds.size > 0;
	const stay = keepTurns ?? (namesTools ? 0 : usualKeepTurns);
	const firstKept = stay === 0 ? caller : (turns.at(-stay) ?? 0);
	const found = new Set();
	const findNamed = (place) => {
		const { callId } = paired[place].result;
		const names = [
			...(callId !== undefined && callIds.has(callId) ? [callId] : []),
			...(refs.size > 0 ? refsOf(place).filter((ref) => refs.has(ref)) : []),
		];
		for (const name of names) found.add(name);
		return names.length > 0;
	};
	const places = [];
	let kept = 0;
	for (const [place, one] of paired.entries()) {
		if (one.message >= caller || one.caller === undefined) continue;
		if (findNamed(place)) places.push(place);
		else if (one.caller >= firstKept) continue;
		else if (namesTools ? tools.has(one.call?.name ?? "") : !namesResults) {
			const { outcome, staysUntil, usedUntil } = results[place];
			const isKept = outcome === "error" || staysUntil >= caller || usedUntil >= caller;
			if (isKept && !namesTools) kept += 1;
			else places.push(place);
		}
	}
	return { places, kept, unknown: refs.size + callIds.size - found.size };
}
/** By place, what the agent asks to keep; `undefined` if it does not ask. A later call makes the time of an earlier one longer. */
export function keptByAgent(history, calls) {
	const asked = askedCalls(history.transcript, history.paired).filter(({ kind }) => kind === "keep");
	if (asked.length === 0) return undefined;
	const kept = new Map();
	for (const call of asked) {
		const until = inViewUntil(call.caller, calls);
		for (const place of askedResults(call, history).places) {
			const before = kept.get(place);
			const from = before && before.until >= call.caller ? before.from : call.caller;
			kept.set(place, { from, until });
		}
	}
	return kept;
}
function readArguments(text) {
	try {
		const given = JSON.parse(text || "{}");
		if (!isJsonObject(given)) return undefined;
		// OpenAI's strict mode makes a model write null for each unused argument.
		return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
	} catch {
		return undefined;
	}
}
function textsIn(value) {
	return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
/** A model may copy what is around a reference. */
function plainRef(given) {
	return given
		.toLowerCase()
		.replace(/^\W*(?:r[eé]f=)?/, "")
		.replace(/\W/g, "");
}
