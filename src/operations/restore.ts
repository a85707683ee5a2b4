import type { Archive } from "../archive/archive.ts";
import { summaryOfMessage } from "../compaction/summary.ts";
import { applyPlan } from "../conversation/apply.ts";
import type { Plan } from "../conversation/plan.ts";
import { jsonPointer, type Path } from "../conversation/transcript.ts";
import { readConversation } from "../formats/detect.ts";
import { type ValueEdit, writeValues } from "../json-text/edit.ts";
import { readTextDocument } from "../json-text/read.ts";
import type { Policy } from "../policy/schema.ts";
import { createOriginalFinder } from "./find-original.ts";

/**
 * Puts archived originals back into the JSON text of a conversation, round after round until nothing more is found. What
 * comes back is spelled as it was, so that the text is again what it was to the byte.
 *
 * @throws PalimpsestError `invalid_json`, `not_a_conversation`, `archive_unavailable`.
 */
export async function restoreText(what: {
	readonly text: string;
	readonly archive: Archive;
	readonly policy: Policy;
	/** Whether what names no reference is looked up by the id of its call. */
	readonly byCallId?: boolean | undefined;
	/** Whose text it is, for errors. */
	readonly name: string;
}): Promise<{ readonly text: string; readonly report: RestoreReport }> {
	const { archive, policy, byCallId, name } = what;
	const { last, report } = await restoreInRounds(what.text, async (text) => {
		const document = readTextDocument(text, name);
		const restored = await restoreConversation({ conversation: document.value, archive, policy, byCallId });
		return { next: writeValues(document, restored.edits), report: restored.report };
	});
	return { text: last, report };
}

/**
 * Puts archived originals back into a conversation, until nothing more is found.
 *
 * @throws PalimpsestError `not_a_conversation`, `archive_unavailable`.
 */
export async function restoreWhole(what: {
	readonly conversation: unknown;
	readonly archive: Archive;
	readonly policy: Policy;
	/** Whether what names no reference is looked up by the id of its call. */
	readonly byCallId?: boolean | undefined;
}): Promise<{ readonly conversation: unknown; readonly report: RestoreReport }> {
	const { archive, policy, byCallId } = what;
	const { last, report } = await restoreInRounds(what.conversation, async (conversation) => {
		const restored = await restoreConversation({ conversation, archive, policy, byCallId });
		return { next: restored.conversation, report: restored.report };
	});
	return { conversation: last, report };
}

/** What was cut, then masked, takes a round each; a text deeper than this leads in a circle. */
const mostRounds = 8;

/** Restores round after round until nothing more is found, and sums up. */
export async function restoreInRounds<Subject>(
	first: Subject,
	restoreOnce: (subject: Subject) => Promise<{ readonly next: Subject; readonly report: RestoreReport }>,
): Promise<{ readonly last: Subject; readonly report: RestoreReport }> {
	let last = first;
	let [restored, byCallId] = [0, 0];
	const redacted = new Set<string>();
	for (let round = 1; ; round += 1) {
		const { next, report } = await restoreOnce(last);
		restored += report.restored;
		byCallId += report.restored_by_call_id;
		for (const one of report.redacted) redacted.add(one);
		last = next;
		if (report.restored === 0 || round === mostRounds) {
			return { last, report: { ...report, restored, restored_by_call_id: byCallId, redacted: [...redacted] } };
		}
	}
}

/** What a restoring did. */
export interface RestoreReport {
	/** Results, images and cut texts that stand again as they were. */
	readonly restored: number;
	/** How many of these were found by the id of their call alone. */
	readonly restored_by_call_id: number;
	/** Placeholders and markers whose original is not in the archive, by what they name it. */
	readonly missing: readonly string[];
	/**
	 * Those that need not be ours: what they tell does not fit the result that they stand in, so that a tool may have
	 * printed them. Also those for which the archive holds several originals and nothing tells which.
	 */
	readonly ambiguous: readonly string[];
	/** Those that name no reference, by the id of their call. */
	readonly without_reference: readonly string[];
	/** Summaries, by the reference of the messages that they stand for. Messages are not put back. */
	readonly summaries: readonly string[];
	/** Restored ones whose stored text had been redacted: these are not what they were byte for byte. */
	readonly redacted: readonly string[];
}

/** A conversation with its originals put back. */
export interface Restored {
	/** The very input where nothing was restored. */
	readonly conversation: unknown;
	/** What was put back, for writing it into the text that the conversation was read from. */
	readonly edits: readonly ValueEdit[];
	readonly report: RestoreReport;
}

/**
 * Puts archived originals back in the place of placeholders and of cut texts, in one round: what was cut first and masked
 * later takes two.
 *
 * @throws PalimpsestError `not_a_conversation`, `archive_unavailable`.
 */
export async function restoreConversation(what: {
	readonly conversation: unknown;
	readonly archive: Archive;
	readonly policy: Policy;
	/** Whether what names no reference is looked up by the id of its call; by default it is left as it is. */
	readonly byCallId?: boolean | undefined;
}): Promise<Restored> {
	const { conversation, archive, policy, byCallId = false } = what;
	const { document, located, transcript } = readConversation(conversation);
	const find = createOriginalFinder({ archive, policy, document, byCallId });
	const edits: ValueEdit[] = [];
	const names = { missing: new Set<string>(), ambiguous: new Set<string>(), unnamed: new Set<string>() };
	const [summaries, redacted] = [new Set<string>(), new Set<string>()];
	const settled = new Set<string>();
	const around = new Set<string>();
	const isSettled = (path: Path) => prefixes(path).some((pointer) => settled.has(pointer));
	const overlaps = (path: Path) => isSettled(path) || around.has(jsonPointer(path));
	const settle = (path: Path) => {
		settled.add(jsonPointer(path));
		for (const pointer of prefixes(path)) around.add(pointer);
	};
	let [restored, restoredByCallId] = [0, 0];
	for (const message of transcript.messages) {
		const summary = message.sent === false ? undefined : summaryOfMessage(message);
		if (summary) summaries.add(summary.ref ?? "a summary without a reference");
		for (const { callId, texts, copies } of message.results) {
			for (const { path, text } of [...texts, ...copies]) {
				if (isSettled(path)) continue;
				const record = path.slice(0, located.base.length + 1);
				const found = await find({ text, path, record, callId });
				if (found.kind === "none") continue;
				if (found.kind !== "found") {
					names[found.kind].add(found.name);
					continue;
				}
				// What overlaps with another's places has its turn in the next round.
				if (found.edits.some((edit) => overlaps(edit.path))) continue;
				if (found.isRedacted) redacted.add(found.name);
				restored += 1;
				if (found.by === "call") restoredByCallId += 1;
				edits.push(...found.edits);
				for (const edit of found.edits) settle(edit.path);
			}
		}
	}
	const report = {
		restored,
		restored_by_call_id: restoredByCallId,
		missing: [...names.missing],
		ambiguous: [...names.ambiguous],
		without_reference: [...names.unnamed],
		summaries: [...summaries],
		redacted: [...redacted],
	};
	if (edits.length === 0) return { conversation, edits, report };
	const size = { chars: 0, tokens: 0 };
	const plan: Plan = edits.map(({ path, replacement }) => ({
		kind: "replace",
		reason: "mask",
		path,
		replacement,
		message: -1,
		before: size,
		after: size,
	}));
	return { conversation: applyPlan(document, plan), edits, report };
}

/** JSON Pointers of a path and of all that it leads through, but for the document itself. */
function prefixes(path: Path): string[] {
	return path.map((_, index) => jsonPointer(path.slice(0, index + 1)));
}
