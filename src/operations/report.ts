import { type CountTokens, likelyTokens, measure, sizeOfResult, type TokenScale } from "../conversation/measure.ts";
import { type Size, type SizeSum, startSum } from "../conversation/plan.ts";
import { notesOn, notesOnRoles } from "../conversation/report.ts";
import type { Message, Transcript } from "../conversation/transcript.ts";
import { isToolTurn, type PairedResult, pairResults, toolTurns } from "../conversation/turns.ts";
import { readConversation } from "../formats/detect.ts";
import { budgetOf } from "../guarding/budget.ts";
import { resultTargets } from "../masking/judge-results.ts";
import { cleanValue } from "../masking/placeholder.ts";
import { findStale } from "../masking/staleness.ts";
import type { CallTarget } from "../masking/targets.ts";
import { findUses, type Uses } from "../masking/uses.ts";
import { resolvePolicy } from "../policy/layers.ts";
import type { PolicyLayer } from "../policy/schema.ts";
import type { Originals } from "../policy/wordings.ts";
import type { CountMethod } from "../tokens/estimate.ts";
import { calibrate, checkGivenTokens, type GivenTokens, knownContextWindow } from "./context-window.ts";
import { asSent, modelOfCall, modelOfSession, tokenMeter } from "./count.ts";
import { type CountedConversation, type PresetOutcome, presetOutcomes } from "./preset-outcomes.ts";

/** A conversation to report on. */
interface ContextReportRequest extends GivenTokens {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	/** The configuration, over which each preset is laid. */
	readonly layers: readonly PolicyLayer[];
	/** What happens to originals, as placeholders say it; by default they are archived. */
	readonly originals?: Originals;
	/** Model whose window and tokenizer count; by default from the conversation, the policy or a record of the session. */
	readonly model?: string | undefined;
	/** Tool schemas that are sent along, if the conversation does not hold them. */
	readonly tools?: unknown;
}

/**
 * The content of the context window, as `palimpsest report` prints it in JSON. Tokens are the best guess of the counter;
 * lists begin with the largest, except that of presets. Of the conversation's text it holds only names of tools, ids of
 * calls and their targets.
 */
export interface ContextReport {
	/** As the caller, the conversation or the policy names it; `null` if none does. */
	readonly model: string | null;
	/** `estimated` if the model's tokenizer is not public. */
	readonly method: CountMethod;
	/** In tokens; `null` if not known. */
	readonly context_window: number | null;
	/** Most tokens of the conversation: the window without the reserve for the answer; `null` if not known. */
	readonly budget_tokens: number | null;
	/** Tokens of the whole conversation in the next call. */
	readonly tokens: number;
	/** Messages that are sent, without those that a session has compacted away. */
	readonly messages: number;
	/** Tool turns among them. */
	readonly tool_turns: number;
	readonly by_role: readonly RoleShare[];
	readonly by_tool: readonly ToolShare[];
	/** At most 10. */
	readonly biggest_results: readonly LargeResult[];
	readonly presets: readonly PresetOutcome[];
	/** What a reader of the numbers should know, in English sentences. */
	readonly notes: readonly string[];
}

/** The roles of messages in every format. */
type ReportedRole = "system" | "user" | "assistant" | "tool" | "other";

/** The share of a role. The shares of all roles add up to the whole conversation. */
interface RoleShare {
	/**
	 * `tool`: results in any message, and messages that hold nothing else. `system` includes what each request sends beside
	 * the messages. `other`: roles that no format defines.
	 */
	readonly role: ReportedRole;
	readonly tokens: number;
	/** UTF-16 code units. */
	readonly chars: number;
	readonly messages: number;
}

/** The share of the results of a tool. */
interface ToolShare {
	/** Without control characters; `null` if the conversation holds no call with a name. */
	readonly tool: string | null;
	/** Of its results; its calls count with the assistant. */
	readonly tokens: number;
	readonly results: number;
}

/** One of the largest tool results. */
interface LargeResult {
	/** As above. */
	readonly tool: string | null;
	/** `null` if the format has none. */
	readonly call_id: string | null;
	/**
	 * The files or folders of its call, else the program of its command, such as `npm test`, for people to recognise it by;
	 * at most 120 characters. `null` if neither is known.
	 */
	readonly target: string | null;
	/** Index of the message that holds it, from 0. */
	readonly message: number;
	readonly tokens: number;
	/** Tool turns that came after it. */
	readonly age_turns: number;
	/**
	 * Whether an assistant message used an identifier or a whole line of it that had stood in at most three results and
	 * nowhere else.
	 */
	readonly used_since: boolean;
	/** Whether its content was read again, edited or repeated since. */
	readonly stale: boolean;
}

/**
 * Reports what fills a context window, and what each preset would free and cost. Changes and keeps nothing. Takes time in
 * proportion to the conversation, which is read and counted once.
 *
 * @throws PalimpsestError `not_a_conversation`; `invalid_argument` for a window, reserve or usage that is no whole number
 * of tokens, and for tools if the conversation has its own.
 */
export async function reportContext(request: ContextReportRequest): Promise<ContextReport> {
	const { conversation, layers, originals = "archived", reserveTokens } = request;
	const inputTokens = checkGivenTokens(request);
	const last: PolicyLayer = reserveTokens === undefined ? {} : { guard: { reserve_tokens: reserveTokens } };
	const policy = resolvePolicy([...layers, last]);
	const source = readConversation(conversation);
	const model = modelOfCall(request.model, conversation, policy) ?? modelOfSession(source);
	const { transcript, requestOverhead } = asSent(source, { model, tools: request.tools });
	const { meter, estimate } = await tokenMeter(policy, model);
	const measurement = measure(transcript, meter, requestOverhead(meter.countTokens));
	const { method, scale, notes } = calibrate(estimate, { transcript, measurement, inputTokens });
	const window = await knownContextWindow(request.contextWindow, policy, model);
	return contextReportOf(
		{ source, transcript, measurement, meter, scale, contextWindow: window?.tokens, originals },
		{ model, method, notes: [...(window?.notes ?? []), ...notes], layers, last },
	);
}

/** The report on a counted conversation. */
export function contextReportOf(
	conversation: CountedConversation,
	settings: {
		readonly model: string | undefined;
		readonly method: CountMethod;
		/** On the window and on the counting. */
		readonly notes: readonly string[];
		/** The configuration, over which each preset is laid. */
		readonly layers: readonly PolicyLayer[];
		/** The settings of the call, over each preset. */
		readonly last: PolicyLayer;
	},
): ContextReport {
	const { model, method, notes, layers, last } = settings;
	const { source, transcript, measurement, meter, scale, contextWindow } = conversation;
	const { guard } = resolvePolicy([...layers, last]);
	const results = countedResults(transcript, meter.countTokens);
	const sent = transcript.messages.filter((message) => message.sent !== false);
	return {
		model: model ?? null,
		method,
		context_window: contextWindow ?? null,
		budget_tokens: contextWindow === undefined ? null : budgetOf(contextWindow, guard),
		tokens: likelyTokens(measurement.total, scale),
		messages: sent.length,
		tool_turns: sent.filter(isToolTurn).length,
		by_role: roleShares(conversation, results),
		by_tool: toolShares(results, scale),
		biggest_results: biggestResults(results, conversation),
		presets: presetOutcomes(conversation, { layers, last }),
		notes: [...notesOn(transcript), ...notesOnRoles(source.document, transcript), ...notes],
	};
}

const mostResults = 10;

/** A string that stands in more results than this does not show which of them was used. */
const mostHolders = 3;

/** The largest results, largest first; of two of the same size the later one. */
function biggestResults(results: readonly CountedResult[], { transcript, scale }: CountedConversation): LargeResult[] {
	const largest = results.toSorted((a, b) => b.size.tokens - a.size.tokens || b.place - a.place).slice(0, mostResults);
	if (largest.length === 0) return [];
	const turns = toolTurns(transcript);
	const used = usedResults(findUses(transcript));
	const stale = findStale(transcript);
	const targets = resultTargets(transcript);
	return largest.map(({ place, tool, result, message, size }) => ({
		tool,
		call_id: result.callId ?? null,
		target: targetText(targets[place]),
		message,
		tokens: likelyTokens(size, scale),
		age_turns: turns.filter((turn) => turn > message).length,
		used_since: used.has(place),
		stale: stale[place] !== undefined,
	}));
}

/** The results that hold a string which an assistant message used. */
function usedResults({ identifiers, lines }: Uses): ReadonlySet<number> {
	const used = new Set<number>();
	for (const { holders } of [identifiers, lines].flat(2)) {
		if (holders.length <= mostHolders) for (const place of holders) used.add(place);
	}
	return used;
}

const roles: readonly ReportedRole[] = ["system", "user", "assistant", "tool", "other"];

/** The share of each role, the largest first; empty roles are left out. */
function roleShares({ transcript, measurement, scale }: CountedConversation, results: readonly CountedResult[]) {
	const sums = new Map(roles.map((role) => [role, { size: startSum(), messages: 0 }]));
	const of = (role: ReportedRole) => sums.get(role) as { readonly size: SizeSum; messages: number };
	const beside = startSum(measurement.total);
	transcript.messages.forEach((message, index) => {
		if (message.sent === false) return;
		const size = measurement.messages[index] as Size;
		const share = of(roleOf(message));
		share.messages += 1;
		share.size.add(size);
		beside.subtract(size);
	});
	for (const { message, size } of results) {
		of(roleOf(transcript.messages[message] as Message)).size.subtract(size);
		of("tool").size.add(size);
	}
	of("system").size.add(beside.total());
	const sizes = roles.map((role) => of(role).size.total());
	const tokens = scaleParts(sizes, scale);
	return roles
		.map((role, index) => ({
			role,
			tokens: tokens[index] ?? 0,
			chars: sizes[index]?.chars ?? 0,
			messages: of(role).messages,
		}))
		.filter((share) => share.tokens > 0 || share.messages > 0)
		.sort((a, b) => b.tokens - a.tokens);
}

/** Some formats put results into messages of the user. */
function roleOf({ role, results, counted }: Message): ReportedRole {
	return role !== "assistant" && results.length > 0 && counted.every((text) => text === "") ? "tool" : role;
}

/** UTF-16 code units at most. */
const longest = 120;

/**
 * The files and folders of a call, else its program, on one line; `null` if there are none. A long text loses its
 * beginning, because paths differ at their ends.
 */
export function targetText(target: CallTarget | undefined): string | null {
	if (!target) return null;
	const files = new Set([...target.reads.map(({ path }) => path), ...target.writes, ...target.paths]);
	const text = files.size > 0 ? Array.from(files).join(", ") : (target.program ?? "");
	const line = text
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim();
	if (line === "") return null;
	return line.length <= longest ? line : `…${line.slice(1 - longest)}`.toWellFormed();
}

/** The share of the results of each tool, the largest first. */
function toolShares(results: readonly CountedResult[], scale: TokenScale): ToolShare[] {
	const sums = new Map<string | null, { readonly size: SizeSum; results: number }>();
	for (const { tool, size } of results) {
		const sum = sums.get(tool) ?? { size: startSum(), results: 0 };
		sums.set(tool, sum);
		sum.size.add(size);
		sum.results += 1;
	}
	const sizes = Array.from(sums.values(), ({ size }) => size.total());
	const tokens = scaleParts(sizes, scale);
	return Array.from(sums, ([tool, { results: count }], index) => ({
		tool,
		tokens: tokens[index] ?? 0,
		results: count,
	})).sort((a, b) => b.tokens - a.tokens);
}

/** A tool result with its size. */
interface CountedResult extends PairedResult {
	/** Its index in `pairResults`. */
	readonly place: number;
	/** Safe to print; `null` if not known. */
	readonly tool: string | null;
	/** Of its texts, images, recordings and documents, before any scaling. */
	readonly size: Size;
}

/** The tool results that a request sends, in order. */
function countedResults(transcript: Transcript, countTokens: CountTokens): readonly CountedResult[] {
	return pairResults(transcript).flatMap((one, place): CountedResult[] => {
		if (transcript.messages[one.message]?.sent === false) return [];
		const { chars, tokens } = sizeOfResult(one.result, countTokens);
		const fixed = one.result.media.reduce((sum, media) => sum + media.tokens, 0);
		const name = one.call?.name === undefined ? "" : cleanValue(one.call.name);
		return [{ ...one, place, tool: name === "" ? null : name, size: { chars, tokens: tokens + fixed, fixed } }];
	});
}

/** The tokens of the parts of a whole on a scale, rounded so that they add up to the tokens of the whole. */
export function scaleParts(parts: readonly Size[], scale: TokenScale): readonly number[] {
	const sum = startSum();
	let before = 0;
	return parts.map((part) => {
		sum.add(part);
		const after = likelyTokens(sum.total(), scale);
		const own = after - before;
		before = after;
		return own;
	});
}
