import { applyPlan } from "../engine/conversation/apply.ts";
import { addToList, groupBy } from "../engine/conversation/lists.ts";
import { measure } from "../engine/conversation/measure.ts";
import {
	itemBeside,
	jsonPointer,
	type Path,
	parseInsertPointer,
	parseJsonPointer,
	startsWith,
	valueAt,
} from "../engine/conversation/paths.ts";
import type { Edit } from "../engine/conversation/plan.ts";
import { PalimpsestError } from "../errors.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { sha256Of } from "../formats/json-text/value.ts";
import { modelOfCall } from "../formats/model.ts";
import type { SpellingsOf } from "../storage/restore/originals.ts";
import { compactConversation } from "./compact.ts";
import type {
	CallerRequest,
	CompactionResult,
	CompactOutcome,
	CompactRequest,
	SummaryReport,
} from "./compaction-request.ts";
import { checkGivenTokens, openBudget } from "./context-window.ts";
import type { Outcome } from "./conversation.ts";
import { tokenMeter } from "./count.ts";
import type { EditRecord } from "./edit-record.ts";
import { type GuardReport, type GuardRequest, guardConversation, largestConsumers, longConversation } from "./guard.ts";

type GuardWithCompactionRequest = GuardRequest &
	Pick<CompactRequest, "signal" | "onProgress"> & {
		readonly compaction: () => Promise<Pick<CompactRequest, "strategy" | "answer">>;
	};

export type AutoCompaction =
	| {
			readonly strategy: string;
			readonly result: CompactionResult;
			readonly summary?: SummaryReport;
			/** With `summary_requested`: the caller compacts the original conversation with its summary and the token. */
			readonly request?: CallerRequest;
	  }
	/** The guard continued without it. */
	| { readonly result: "failed"; readonly code: string; readonly message: string };

export interface GuardWithCompactionReport extends GuardReport {
	readonly compaction?: AutoCompaction;
}

/** Compacts first if the conversation has `guard.max_messages` and the policy says `guard.auto_compact`. */
export async function guardWithCompaction(
	request: GuardWithCompactionRequest,
): Promise<Outcome<GuardWithCompactionReport>> {
	const { conversation, policy } = request;
	if (!policy.guard.enabled || !policy.guard.auto_compact) return guardConversation(request);
	const source = readConversation(conversation, policy.mask.observations);
	const long = longConversation(source.transcript, policy);
	if (!long.max_messages?.reached) return guardConversation(request);

	// Checked first, so that no model is asked for a summary of a conversation that cannot be guarded.
	checkGivenTokens(request);
	await openBudget(request);
	const goOnWithout = async (compaction: AutoCompaction) => {
		const guarded = await guardConversation(request);
		return { ...guarded, report: { ...guarded.report, compaction } };
	};
	const outcome = await compactFirst(request);
	if (outcome instanceof PalimpsestError) return goOnWithout(failure(outcome));
	const { strategy, result, summary } = outcome.report;
	const { request: summaryRequest } = outcome;
	const compaction = {
		strategy,
		result,
		...(summary && { summary }),
		...(summaryRequest && { request: summaryRequest }),
	};
	if (!outcome.report.changed) return goOnWithout(compaction);
	const between = readConversation(outcome.conversation, policy.mask.observations, { isEdited: true });
	const steps = outcome.edits.map((record): Step => ({ record, path: pathOf(record, source.document) }));
	const trace = traceThrough(steps, source.document);
	const guarded = await orError(() =>
		guardConversation({
			...request,
			conversation: outcome.conversation,
			spellingsOf: request.spellingsOf && spellingsBetween(request.spellingsOf, { source, between, trace }),
			// The usage was reported for the conversation before it was compacted.
			usage: undefined,
		}),
	);
	// A compacted conversation alone is not a result: the guard promises that it fits.
	if (guarded instanceof PalimpsestError) return goOnWithout(failure(guarded));
	const { report } = guarded;
	const { edits, origins } = composeEdits({ source, between, trace, first: steps, second: guarded.edits });
	const summaries = new Set(
		outcome.edits.flatMap(({ kind, reason, message }) => (kind === "replace" && reason === "summary" ? [message] : [])),
	);
	const groups = (report.dropped_groups ?? []).map(({ ref, messages }) => ({
		ref,
		messages: messages.flatMap((message) => {
			const origin = origins[message] ?? -1;
			return origin < 0 || summaries.has(origin) ? [] : [origin];
		}),
	}));
	const dropped = [...(outcome.report.dropped_groups ?? []), ...groups];
	const { meter, estimate } = await tokenMeter(policy, modelOfCall(request.model, conversation, policy));
	const { messages: sizes } = measure(source.transcript, meter);
	const largest = largestConsumers(source.transcript, { sizes, scale: estimate.scale });
	const { messages, tool_turns, tool_results, chars, tool_chars, tokens, masked_tool_results } = outcome.report;
	return {
		...guarded,
		edits,
		report: {
			...report,
			changed: true,
			messages: { before: messages.before, after: report.messages.after },
			tool_turns,
			tool_results,
			chars: { before: chars.before, after: report.chars.after },
			tool_chars: { before: tool_chars.before, after: report.tool_chars.after },
			tokens: { before: tokens.before, after: report.tokens.after },
			masked_tool_results: masked_tool_results + report.masked_tool_results,
			largest,
			...(dropped.length > 0 ? { dropped_groups: dropped } : {}),
			...long,
			compaction,
		},
	};
}

function compactFirst(request: GuardWithCompactionRequest): Promise<CompactOutcome | PalimpsestError> {
	const { lastResponse: _, usage: __, compaction, ...shared } = request;
	return orError(async () => compactConversation({ ...shared, ...(await compaction()), force: true }));
}

async function orError<Result extends { readonly error?: PalimpsestError }>(
	work: () => Promise<Result>,
): Promise<Result | PalimpsestError> {
	try {
		const result = await work();
		return result.error ?? result;
	} catch (error) {
		if (error instanceof PalimpsestError) return error;
		throw error;
	}
}

function failure({ code, message }: PalimpsestError): AutoCompaction {
	return { result: "failed", code, message };
}

// ---- Edits of both rounds ----

/** The spellings in the text of the input, which has a value of the second round in another place, or not at all. */
function spellingsBetween(
	spellingsOf: SpellingsOf,
	rounds: { readonly source: ReadConversation; readonly between: ReadConversation; readonly trace: Trace },
): SpellingsOf {
	const { source, between, trace } = rounds;
	return (paths) => {
		const places = new Map(paths.map((path) => [trace(path).path, path]));
		for (const [was, path] of places) {
			if (valueAt(source.document, was) !== valueAt(between.document, path)) places.delete(was);
		}
		return new Map(Array.from(spellingsOf([...places.keys()]), ([was, spelling]) => [places.get(was) ?? [], spelling]));
	};
}

/** Edits of the first document that replace two rounds. `origins`: messages between the rounds in it, -1 if inserted. */
function composeEdits(rounds: {
	readonly source: ReadConversation;
	readonly between: ReadConversation;
	readonly trace: Trace;
	readonly first: readonly Step[];
	readonly second: readonly EditRecord[];
}) {
	const { source, between, trace, first, second } = rounds;
	let steps = [...first];
	const origins = messageOrigins(source, between, trace);
	const changes = new Map<Step, Change[]>();

	for (const record of second) {
		const { step, path } = trace(pathOf(record, between.document));
		if (!step) {
			const inside = record.kind === "insert" ? [] : steps.filter(({ path: one }) => startsWith(one, path));
			steps = steps.filter((one) => !inside.includes(one));
			steps.push({ path, record: placed(record, { path, inside, source, origins }) });
		} else if (path.length > 0) {
			addToList(changes, step, { record, path });
		} else if (record.kind === "remove") {
			steps = steps.filter((one) => one !== step);
		} else if (record.kind === "replace") {
			step.record = { ...step.record, value: record.replacement, after: record.after };
		} else {
			const { path } = step;
			steps.splice(steps.indexOf(step), 0, { path, record: placed(record, { path, inside: [], source, origins }) });
		}
	}
	const edits = steps.map((step) => {
		const inside = changes.get(step);
		return inside ? withChanges(step.record, inside) : step.record;
	});
	return { edits, origins };
}

function placed(
	record: EditRecord,
	at: {
		readonly path: Path;
		readonly inside: readonly Step[];
		readonly source: ReadConversation;
		readonly origins: readonly number[];
	},
): EditRecord {
	const { path, inside, source, origins } = at;
	const { document, transcript } = source;
	const before = { ...record.before };
	for (const { record: gone } of inside) {
		before.chars += gone.before.chars - gone.after.chars;
		before.tokens += gone.before.tokens - gone.after.tokens;
	}
	const { message, ...rest } = record;
	const index = message === undefined ? undefined : (origins[message] ?? transcript.messages.length);
	// The first round archived the whole value.
	const ref = inside.find((one) => one.path.length === path.length)?.record.ref ?? record.ref;
	return {
		...rest,
		path: jsonPointer(path),
		sha256_before: sha256Of(record.kind === "insert" ? itemBeside(document, path) : valueAt(document, path)),
		before,
		...(index === undefined || index < 0 ? {} : { message: index }),
		...(ref === undefined ? {} : { ref }),
	};
}

function withChanges(record: EditRecord, changes: readonly Change[]): EditRecord {
	const plan = changes.map((change) => ({ ...change.record, path: change.path }) as Edit);
	const after = { ...record.after };
	for (const { record: change } of changes) {
		after.chars += change.after.chars - change.before.chars;
		after.tokens += change.after.tokens - change.before.tokens;
	}
	return record.kind === "insert"
		? { ...record, after, value: applyPlan(record.value, plan) }
		: { ...record, after, replacement: applyPlan(record.replacement, plan) };
}

function messageOrigins(source: ReadConversation, between: ReadConversation, trace: Trace): readonly number[] {
	const depth = source.located.base.length;
	const messages = source.transcript.messages.map(({ paths }, message) => ({ message, record: paths[0]?.[depth] }));
	const waiting = groupBy(messages, ({ record }) => record);
	return between.transcript.messages.map(({ paths: [path] }) => {
		const origin = path && trace(path.slice(0, depth + 1));
		if (!origin || origin.step) return -1;
		return waiting.get(origin.path[depth])?.shift()?.message ?? -1;
	});
}

interface Step {
	readonly path: Path;
	record: EditRecord;
}

type Change = Readonly<Step>;

/** `path` is within the value that `step` inserted or put in place of another, else in the first document. */
type Trace = (path: Path) => { readonly step?: Step; readonly path: Path };

function pathOf({ kind, path }: EditRecord, document: unknown): Path {
	return (kind === "insert" ? parseInsertPointer(path, document) : parseJsonPointer(path, document)) as Path;
}

function traceThrough(steps: readonly Step[], document: unknown): Trace {
	const replacements = new Map<string, Step>();
	const lists = new Map<string, Step[]>();
	for (const step of steps) {
		if (step.record.kind === "replace") replacements.set(jsonPointer(step.path), step);
		else addToList(lists, jsonPointer(step.path.slice(0, -1)), step);
	}
	const origins = new Map(Array.from(lists, ([list, moves]) => [list, originsOfItems(moves, document)]));
	return (path) => {
		let before: Path = [];
		for (const [depth, segment] of path.entries()) {
			const origin = origins.get(jsonPointer(before))?.[Number(segment)] ?? segment;
			if (typeof origin === "object") return { step: origin, path: path.slice(depth + 1) };
			before = [...before, origin];
			const step = replacements.get(jsonPointer(before));
			if (step && depth < path.length - 1) return { step, path: path.slice(depth + 1) };
		}
		return { path: before };
	};
}

/** For each item of a list, and its end: its index before the first round, or the step that inserted it. */
function originsOfItems(moves: readonly Step[], document: unknown): (number | Step)[] {
	const [{ path: first }] = moves as [Step];
	const items = valueAt(document, first.slice(0, -1));
	const byIndex = groupBy(moves, ({ path }) => path.at(-1));
	return Array.from({ length: Array.isArray(items) ? items.length + 1 : 0 }, (_, index) => {
		const here = byIndex.get(index) ?? [];
		const inserted = here.filter(({ record }) => record.kind === "insert");
		return inserted.length === here.length ? [...inserted, index] : inserted;
	}).flat();
}
