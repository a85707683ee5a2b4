import { originalsNamed } from "../../engine/compaction/prompt.ts";
import { summariesOfMessage } from "../../engine/compaction/summary.ts";
import { applyPlan } from "../../engine/conversation/apply.ts";
import { jsonPointer, type Path } from "../../engine/conversation/paths.ts";
import { type Edit, noSize } from "../../engine/conversation/plan.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { readConversation } from "../../formats/detect.ts";
import { type ValueEdit, writeValues } from "../../formats/json-text/edit.ts";
import { readTextDocument } from "../../formats/json-text/read.ts";
import { bindsReasoning } from "../../formats/model.ts";
import type { Archive } from "../archive/archive.ts";
import { createOriginalFinder } from "./find-original.ts";
import { type KeepsOriginals, originalsOf } from "./originals.ts";

export interface RestoreReport {
	readonly restored: number;
	readonly missing: readonly string[];
	/** Names that do not fit their result: a tool may have printed them. */
	readonly ambiguous: readonly string[];
	/** Ids of the calls of texts that name no reference. */
	readonly without_reference: readonly string[];
	readonly summaries: readonly string[];
	readonly redacted: readonly string[];
	/**
	 * Blocks of reasoning after restored results, if the model binds reasoning to the messages before it: those that it produced
	 * while the results were masked or cut no longer fit.
	 */
	readonly reasoning_after?: number;
}

interface RestoreOptions {
	readonly archive: Archive;
	readonly policy: Policy;
	/** As the conversation was masked with it. */
	readonly recall?: KeepsOriginals["recall"];
}

/** Restores a text to the byte. Errors mention `name`. Throws PalimpsestError `invalid_json`, and as `restoreConversation`. */
export async function restoreText(request: RestoreOptions & { readonly text: string; readonly name: string }) {
	const { text, name, ...options } = request;
	const { last, report } = await restoreInRounds(text, async (current) => {
		const document = readTextDocument(current, name);
		const restored = await restoreOnce({ ...options, conversation: document.value });
		return { next: writeValues(document, restored.edits), report: restored.report };
	});
	return { text: last, report };
}

/** Restores in rounds until nothing more is found. Throws PalimpsestError `not_a_conversation`, `archive_unavailable`. */
export async function restoreConversation(request: RestoreOptions & { readonly conversation: unknown }) {
	const { conversation, ...options } = request;
	const size = { message: -1, before: noSize, after: noSize };
	const { last, report } = await restoreInRounds(conversation, async (current) => {
		const restored = await restoreOnce({ ...options, conversation: current });
		const plan = restored.edits.map(
			({ path, replacement }): Edit => ({ kind: "replace", reason: "mask", path, replacement, ...size }),
		);
		return { next: plan.length === 0 ? current : applyPlan(current, plan), report: restored.report };
	});
	return { conversation: last, report };
}

/** A text that was truncated, then masked, takes two rounds; references in a circle would never end. */
const mostRounds = 8;

async function restoreInRounds<Subject>(
	first: Subject,
	restoreOnce: (subject: Subject) => Promise<{ readonly next: Subject; readonly report: RestoreReport }>,
) {
	let last = first;
	let restored = 0;
	const redacted = new Set<string>();
	let after = 0;
	for (let round = 1; ; round += 1) {
		const { next, report } = await restoreOnce(last);
		after = Math.max(after, report.reasoning_after ?? 0);
		restored += report.restored;
		for (const one of report.redacted) redacted.add(one);
		last = next;
		if (report.restored === 0 || round === mostRounds) {
			const sums = { restored, redacted: [...redacted] };
			return { last, report: { ...report, ...sums, ...(after > 0 ? { reasoning_after: after } : {}) } };
		}
	}
}

async function restoreOnce(given: RestoreOptions & { readonly conversation: unknown }) {
	const { conversation, archive, policy, recall } = given;
	// Any reading may have made the placeholders.
	const { observations } = policy.mask;
	const source = readConversation(conversation, Array.isArray(observations) ? observations : true, { isEdited: true });
	const { document, located, transcript } = source;
	const find = createOriginalFinder({
		archive,
		policy,
		document,
		originals: originalsOf({ archive, recall, policy }),
	});
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
	let restored = 0;
	let firstRestored = Number.POSITIVE_INFINITY;
	for (const [index, message] of transcript.messages.entries()) {
		if (message.sent !== false) {
			for (const { ref } of summariesOfMessage(message)) summaries.add(ref ?? "a summary without a reference");
			for (const ref of originalsNamed(message)) summaries.add(ref);
		}
		for (const { callId, texts, copies, inPlaceOfMedia = [] } of message.results) {
			for (const node of [...texts, ...copies, ...inPlaceOfMedia]) {
				const { path } = node;
				if (isSettled(path)) continue;
				const record = path.slice(0, located.base.length + 1);
				const found = await find({ ...node, record, callId });
				if (!found) continue;
				if (found.kind !== "found") {
					names[found.kind].add(found.name);
					continue;
				}
				// An edit that overlaps with another waits for the next round.
				if (found.edits.some((edit) => overlaps(edit.path))) continue;
				if (found.isRedacted) redacted.add(found.name);
				restored += 1;
				firstRestored = Math.min(firstRestored, index);
				edits.push(...found.edits);
				for (const edit of found.edits) settle(edit.path);
			}
		}
	}
	const bound = transcript.messages
		.slice(firstRestored + 1)
		.flatMap(({ thinking }) => thinking.filter((one) => one.bound));
	const report: RestoreReport = {
		...(bound.length > 0 && bindsReasoning(undefined, source, policy) ? { reasoning_after: bound.length } : {}),
		restored,
		missing: [...names.missing],
		ambiguous: [...names.ambiguous],
		without_reference: [...names.unnamed],
		summaries: [...summaries],
		redacted: [...redacted],
	};
	return { edits, report };
}

function prefixes(path: Path): string[] {
	return path.map((_, index) => jsonPointer(path.slice(0, index + 1)));
}
