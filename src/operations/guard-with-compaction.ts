import { applyPlan } from "../conversation/apply.ts";
import { measure } from "../conversation/measure.ts";
import type { Edit } from "../conversation/plan.ts";
import {
	itemBeside,
	jsonPointer,
	type Path,
	parseInsertPointer,
	parseJsonPointer,
	valueAt,
} from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { sha256Of } from "../json-text/value.ts";
import { compactConversation } from "./compact.ts";
import type { CallerRequest, CompactionResult, CompactRequest, SummaryReport } from "./compaction-request.ts";
import type { Outcome } from "./conversation.ts";
import { modelOfCall, tokenMeter } from "./count.ts";
import type { EditRecord } from "./edit-record.ts";
import {
	type GuardReport,
	type GuardRequest,
	guardConversation,
	largestConsumers,
	longConversation,
	openBudget,
} from "./guard.ts";

/** A conversation to guard, and how it is compacted first where it has too many messages and the policy allows it. */
export type GuardWithCompactionRequest = GuardRequest &
	Pick<CompactRequest, "signal" | "onProgress"> & {
		/** Made where a compaction is due. */
		readonly compaction: () => Promise<Pick<CompactRequest, "strategy" | "answer">>;
	};

/** What came of the compaction that a guarding began with. */
export type AutoCompaction =
	| {
			readonly strategy: string;
			readonly result: CompactionResult;
			readonly summary?: SummaryReport;
			/**
			 * With `summary_requested`: there is nobody to write the summary but the caller. It is put in by a compaction of the
			 * conversation as it was passed in, with the summary and its token.
			 */
			readonly request?: CallerRequest;
	  }
	/** It failed; the guard went on without. */
	| { readonly result: "failed"; readonly code: string; readonly message: string };

/** What a guarding did that may have begun with a compaction. */
export interface GuardWithCompactionReport extends GuardReport {
	/** Present where the conversation had `max_messages` or more and the policy says `auto_compact`. */
	readonly compaction?: AutoCompaction;
}

/**
 * Guards a conversation as `guardConversation` does. One with `guard.max_messages` or more is compacted first if the
 * policy says `guard.auto_compact` (docs/specs/robustness.md#message-limit). If that fails, the guard continues without
 * it and says so; if nobody can write the summary, it continues without it and the report holds the request for one.
 *
 * @throws as `guardConversation` does.
 */
export async function guardWithCompaction(
	request: GuardWithCompactionRequest,
): Promise<Outcome<GuardWithCompactionReport>> {
	const { conversation, policy } = request;
	const { enabled, auto_compact, max_messages } = policy.guard;
	if (!enabled || !auto_compact || max_messages === null) return guardConversation(request);
	const source = readConversation(conversation);
	const long = longConversation(source.transcript, policy);
	if (!long.max_messages?.reached) return guardConversation(request);

	// Nobody is asked for a summary of what cannot be guarded.
	await openBudget(request);
	const compacted = await tryToCompact(request);
	const goOnWithout = async (compaction: AutoCompaction) => {
		const guarded = await guardConversation(request);
		return { ...guarded, report: { ...guarded.report, compaction } };
	};
	if (compacted.kind === "failed") return goOnWithout(compacted.compaction);
	const { outcome } = compacted;
	const compaction = compactionOf(outcome);
	if (!outcome.report.changed) return goOnWithout(compaction);
	// The usage was reported for the conversation before it was compacted.
	const guarded = await guardConversation({ ...request, conversation: outcome.conversation, usage: undefined });
	const { report } = guarded;
	// What was compacted is no outcome by itself: the guard promises to fit.
	if (guarded.error) return goOnWithout(failure(guarded.error));
	const between = readConversation(outcome.conversation);
	const tracks = tracksOf(source.document, stepsOf(outcome.edits, source.document));
	const origins = messageOrigins(source, between, tracks);
	const replaced = new Set(
		outcome.edits.flatMap(({ kind, reason, message }) => (kind === "replace" && reason === "summary" ? [message] : [])),
	);
	/** A summary is no message of the input. */
	const before = (message: number) => (replaced.has(origins[message]) ? -1 : (origins[message] ?? -1));
	const groups = (report.dropped_groups ?? []).map(({ ref, messages }) => ({
		ref,
		messages: messages.map(before).filter((message) => message >= 0),
	}));
	const dropped = [...(outcome.report.dropped_groups ?? []), ...groups];
	return {
		...guarded,
		edits: composeEdits({ source, between, first: outcome.edits, second: guarded.edits }),
		report: {
			...report,
			changed: true,
			messages: { before: outcome.report.messages.before, after: report.messages.after },
			tool_turns: outcome.report.tool_turns,
			tool_results: outcome.report.tool_results,
			chars: { before: outcome.report.chars.before, after: report.chars.after },
			tool_chars: { before: outcome.report.tool_chars.before, after: report.tool_chars.after },
			tokens: { before: outcome.report.tokens.before, after: report.tokens.after },
			masked_tool_results: outcome.report.masked_tool_results + report.masked_tool_results,
			largest: await largestOf(request, source),
			...(dropped.length > 0 ? { dropped_groups: dropped } : {}),
			...long,
			compaction,
		},
	};
}

/** What takes the most in the conversation as it was passed in: the guard itself sees it compacted. */
async function largestOf({ policy, model, conversation }: GuardRequest, { transcript }: ReadConversation) {
	const { meter, estimate } = await tokenMeter(policy, modelOfCall(model, conversation, policy));
	const { messages: sizes } = measure(transcript, meter);
	return largestConsumers(transcript, { sizes, scale: estimate.scale });
}

type Attempt =
	| { readonly kind: "done"; readonly outcome: Awaited<ReturnType<typeof compactConversation>> }
	| { readonly kind: "failed"; readonly compaction: AutoCompaction };

async function tryToCompact(request: GuardWithCompactionRequest): Promise<Attempt> {
	const failed = (error: PalimpsestError): Attempt => ({ kind: "failed", compaction: failure(error) });
	try {
		const { lastResponse: _, usage: __, compaction, ...shared } = request;
		const outcome = await compactConversation({ ...shared, ...(await compaction()), force: true });
		return outcome.error ? failed(outcome.error) : { kind: "done", outcome };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return failed(error);
	}
}

function compactionOf({ report, request }: Awaited<ReturnType<typeof compactConversation>>): AutoCompaction {
	const { strategy, result, summary } = report;
	return { strategy, result, ...(summary ? { summary } : {}), ...(request ? { request } : {}) };
}

function failure({ code, message }: PalimpsestError): AutoCompaction {
	return { result: "failed", code, message };
}

/** Two rounds of edits: those of `first` are of the document of `source`, those of `second` of what the first made of it. */
export interface TwoRounds {
	readonly source: ReadConversation;
	readonly between: ReadConversation;
	readonly first: readonly EditRecord[];
	readonly second: readonly EditRecord[];
}

/**
 * The edits of two rounds as one list of edits of the first document. What the second round does to a value that the first
 * has put in is done to that value; what it takes out or replaces takes the first round's edits there with it.
 */
export function composeEdits({ source, between, first, second }: TwoRounds): EditRecord[] {
	const { document } = source;
	let steps = stepsOf(first, document);
	const tracks = tracksOf(document, steps);
	const messages = messageOrigins(source, between, tracks);
	const changes = new Map<Step, { readonly record: EditRecord; readonly path: Path }[]>();

	for (const record of second) {
		const origin = tracePath(tracks, pathOf(record, between.document));
		if (origin.kind === "before") {
			const { path } = origin;
			const inside = record.kind === "insert" ? [] : steps.filter(({ path: one }) => startsWith(one, path));
			if (inside.length > 0) steps = steps.filter((one) => !inside.includes(one));
			steps.push({ path, record: placed(record, { path, inside, source, messages }) });
			continue;
		}
		const { step, rest } = origin;
		if (rest.length > 0) {
			changes.set(step, [...(changes.get(step) ?? []), { record, path: rest }]);
		} else if (record.kind === "remove") {
			steps = steps.filter((one) => one !== step);
		} else if (record.kind === "replace") {
			step.record = { ...step.record, value: record.replacement, after: record.after };
		} else {
			const { path } = step;
			steps.splice(steps.indexOf(step), 0, { path, record: placed(record, { path, inside: [], source, messages }) });
		}
	}
	return steps.map((step) => withChanges(step.record, changes.get(step) ?? []));
}

/** A record of the second round as one of the first document. */
function placed(
	record: EditRecord,
	at: {
		readonly path: Path;
		/** Edits of the first round that it takes the place of. */
		readonly inside: readonly Step[];
		readonly source: ReadConversation;
		readonly messages: readonly number[];
	},
): EditRecord {
	const { path, inside, source, messages } = at;
	const { document, transcript } = source;
	const before = { ...record.before };
	for (const { record: gone } of inside) {
		before.chars += gone.before.chars - gone.after.chars;
		before.tokens += gone.before.tokens - gone.after.tokens;
	}
	const { message, ...rest } = record;
	const index = message === undefined ? undefined : (messages[message] ?? transcript.messages.length);
	// What is archived there stands for all that the first round took out, where that was a value of its own.
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

/** A value of the first round's with the second round's changes in it. */
function withChanges(
	record: EditRecord,
	changes: readonly { readonly record: EditRecord; readonly path: Path }[],
): EditRecord {
	if (changes.length === 0) return record;
	const plan = changes.map((change) => editWithin(change.record, change.path));
	const after = { ...record.after };
	for (const { record: change } of changes) {
		after.chars += change.after.chars - change.before.chars;
		after.tokens += change.after.tokens - change.before.tokens;
	}
	return record.kind === "insert"
		? { ...record, after, value: applyPlan(record.value, plan) }
		: { ...record, after, replacement: applyPlan(record.replacement, plan) };
}

/** An edit that is made to a value by itself: only what it does to it counts. */
function editWithin(record: EditRecord, path: Path): Edit {
	const size = { chars: 0, tokens: 0 };
	const base = { path, message: 0, before: size, after: size, reason: record.reason } as const;
	switch (record.kind) {
		case "replace":
			return { ...base, kind: "replace", replacement: record.replacement };
		case "insert":
			return { ...base, kind: "insert", inserts: "part", value: record.value };
		case "remove":
			return { ...base, kind: "remove" };
	}
}

function startsWith(path: Path, start: Path): boolean {
	return start.length <= path.length && start.every((segment, index) => segment === path[index]);
}

/** For each message between two rounds its index before the first; -1 for one that the first has put in. */
export function messageOrigins(source: ReadConversation, between: ReadConversation, tracks: Tracks): readonly number[] {
	const depth = source.located.base.length;
	const byValue = new Map<unknown, number[]>();
	source.transcript.messages.forEach(({ paths }, message) => {
		const value = paths[0]?.[depth];
		byValue.set(value, [...(byValue.get(value) ?? []), message]);
	});
	const taken = new Map<unknown, number>();
	return between.transcript.messages.map(({ paths: [path] }) => {
		const origin = path && tracePath(tracks, path.slice(0, depth + 1));
		if (origin?.kind !== "before") return -1;
		const value = origin.path[depth];
		const ordinal = taken.get(value) ?? 0;
		taken.set(value, ordinal + 1);
		return byValue.get(value)?.[ordinal] ?? -1;
	});
}

/** An edit of the first of two rounds, which the second may change or take back. */
export interface Step {
	readonly path: Path;
	record: EditRecord;
}

/** Where a place of the document between two rounds comes from. */
export type Origin =
	/** A place of the document before the first round. */
	| { readonly kind: "before"; readonly path: Path }
	/** In a value that a step of the first round has put there; `rest` leads on from that value. */
	| { readonly kind: "step"; readonly step: Step; readonly rest: Path };

/** What the first round did to one document, as far as places move by it. */
export interface Tracks {
	readonly document: unknown;
	/** By pointer: what was put in the place of a value. */
	readonly replacements: ReadonlyMap<string, Step>;
	/** By pointer of a list: what was put into it or taken out, as far as it is known where each item comes from. */
	readonly lists: Map<string, { readonly steps: Step[]; origins?: readonly (number | Step)[] }>;
}

/** The edits of a round with their places in its document. */
export function stepsOf(records: readonly EditRecord[], document: unknown): Step[] {
	return records.map((record) => ({ record, path: pathOf(record, document) }));
}

/** Where an edit of a document stands in it. */
export function pathOf({ kind, path }: EditRecord, document: unknown): Path {
	const found = kind === "insert" ? parseInsertPointer(path, document) : parseJsonPointer(path, document);
	if (!found) throw new Error("Expected an edit of this document.");
	return found;
}

/** Prepares tracing places back through the first round. */
export function tracksOf(document: unknown, steps: readonly Step[]): Tracks {
	const replacements = new Map<string, Step>();
	const lists: Tracks["lists"] = new Map();
	for (const step of steps) {
		if (step.record.kind === "replace") {
			replacements.set(jsonPointer(step.path), step);
			continue;
		}
		const pointer = jsonPointer(step.path.slice(0, -1));
		const list = lists.get(pointer);
		if (list) list.steps.push(step);
		else lists.set(pointer, { steps: [step] });
	}
	return { document, replacements, lists };
}

/** Traces a place of the document between the rounds back to where it comes from. */
export function tracePath(tracks: Tracks, path: Path): Origin {
	let before: Path = [];
	for (const [depth, segment] of path.entries()) {
		const origin = typeof segment === "number" ? originOfItem(tracks, before, segment) : segment;
		if (typeof origin === "object") return { kind: "step", step: origin, rest: path.slice(depth + 1) };
		before = [...before, origin];
		const step = tracks.replacements.get(jsonPointer(before));
		if (step && depth < path.length - 1) return { kind: "step", step, rest: path.slice(depth + 1) };
	}
	return { kind: "before", path: before };
}

/** The index that an item of a list had before, or the step that has put it there. */
function originOfItem({ lists, document }: Tracks, list: Path, index: number): number | Step {
	const moved = lists.get(jsonPointer(list));
	if (!moved) return index;
	const items = valueAt(document, list);
	const length = Array.isArray(items) ? items.length : 0;
	moved.origins ??= originsOf(moved.steps, length);
	return moved.origins[index] ?? length;
}

function originsOf(steps: readonly Step[], length: number): (number | Step)[] {
	const at = new Map<number, Step[]>();
	for (const step of steps) {
		const index = Number(step.path.at(-1));
		const here = at.get(index);
		if (here) here.push(step);
		else at.set(index, [step]);
	}
	const origins: (number | Step)[] = [];
	for (let index = 0; index <= length; index += 1) {
		const here = at.get(index) ?? [];
		origins.push(...here.filter(({ record }) => record.kind === "insert"));
		if (index < length && !here.some(({ record }) => record.kind === "remove")) origins.push(index);
	}
	return origins;
}
