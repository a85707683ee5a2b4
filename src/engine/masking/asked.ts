import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { resultText, type Transcript } from "../conversation/transcript.ts";
import { callArguments, type PairedResult, toolTurns } from "../conversation/turns.ts";
import { inViewUntil } from "./in-use.ts";

/**
 * A call by which an agent asks for something in its own conversation: `mask_conversation` or `guard_context` without
 * `messages` and `path`. Its arguments are untrusted: names and ids are compared, and are never patterns.
 */
export interface AskedCall {
	readonly kind: "mask" | "keep" | "state";
	/** The place of its answer in `pairResults`. */
	readonly place: number;
	/** The message with the call: it names results before it. */
	readonly caller: number;
	readonly refs: ReadonlySet<string>;
	readonly callIds: ReadonlySet<string>;
	/** Empty for all tools. */
	readonly tools: ReadonlySet<string>;
	/** Tool turns before the call that stay. */
	readonly keepTurns: number | undefined;
}

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
export function askedCalls({ messages }: Transcript, paired: readonly PairedResult[]): readonly AskedCall[] {
	return paired.flatMap(({ result, call, caller }, place): AskedCall[] => {
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

function isUnseen(text: string): boolean {
	return unseenAnswers.some((words) => text.includes(words));
}

/** The part of a `ReplayResult` that says whether it stays. */
interface StayingResult {
	readonly outcome: unknown;
	readonly staysUntil: number;
	readonly usedUntil: number;
}

/** The choice of a call among the results before it. */
interface AskedResults {
	/** Results that are named, or that nothing keeps. */
	readonly places: readonly number[];
	/** Errors, answers of people and instructions of skills in use, which stay unless they are named. */
	readonly kept: number;
	/** References and ids that no result before the call has. */
	readonly unknown: number;
}

/**
 * A function of the history up to the call, so every process finds the same. A reference, an id or a tool names its results,
 * whatever they are.
 */
export function askedResults(
	{ refs, callIds, tools, keepTurns, caller }: AskedCall,
	history: {
		readonly transcript: Transcript;
		readonly paired: readonly PairedResult[];
		readonly results: readonly StayingResult[];
		/** All references of a result. */
		readonly refsOf: (place: number) => readonly string[];
	},
): AskedResults {
	const { transcript, paired, results, refsOf } = history;
	const turns = toolTurns(transcript).filter((message) => message < caller);
	const namesTools = tools.size > 0;
	const namesResults = refs.size + callIds.size > 0;
	const stay = keepTurns ?? (namesTools ? 0 : usualKeepTurns);
	const firstKept = stay === 0 ? caller : (turns.at(-stay) ?? 0);
	const found = new Set<string>();
	const findNamed = (place: number): boolean => {
		const { callId } = (paired[place] as PairedResult).result;
		const names = [
			...(callId !== undefined && callIds.has(callId) ? [callId] : []),
			...(refs.size > 0 ? refsOf(place).filter((ref) => refs.has(ref)) : []),
		];
		for (const name of names) found.add(name);
		return names.length > 0;
	};
	const places: number[] = [];
	let kept = 0;
	for (const [place, one] of paired.entries()) {
		if (one.message >= caller || one.caller === undefined) continue;
		if (findNamed(place)) places.push(place);
		else if (one.caller >= firstKept) continue;
		else if (namesTools ? tools.has(one.call?.name ?? "") : !namesResults) {
			const { outcome, staysUntil, usedUntil } = results[place] as StayingResult;
			const isKept = outcome === "error" || staysUntil >= caller || usedUntil >= caller;
			if (isKept && !namesTools) kept += 1;
			else places.push(place);
		}
	}
	return { places, kept, unknown: refs.size + callIds.size - found.size };
}

/** A result that the agent asks to keep stays from its call on, until a message. */
export interface KeptByAgent {
	readonly from: number;
	readonly until: number;
}

/** By place, what the agent asks to keep; `undefined` if it does not ask. A later call makes the time of an earlier one longer. */
export function keptByAgent(
	history: Parameters<typeof askedResults>[1],
	calls: readonly number[],
): ReadonlyMap<number, KeptByAgent> | undefined {
	const asked = askedCalls(history.transcript, history.paired).filter(({ kind }) => kind === "keep");
	if (asked.length === 0) return undefined;
	const kept = new Map<number, KeptByAgent>();
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

function readArguments(text: string | undefined): JsonObject | undefined {
	try {
		const given: unknown = JSON.parse(text || "{}");
		if (!isJsonObject(given)) return undefined;
		// OpenAI's strict mode makes a model write null for each unused argument.
		return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
	} catch {
		return undefined;
	}
}

function textsIn(value: unknown): string[] {
	return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

/** A model may copy what is around a reference. */
function plainRef(given: string): string {
	return given
		.toLowerCase()
		.replace(/^\W*(?:r[eé]f=)?/, "")
		.replace(/\W/g, "");
}
