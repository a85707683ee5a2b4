import { compactJson } from "../../engine/conversation/json.ts";
import { valueAt } from "../../engine/conversation/paths.ts";
import { resultText } from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Archive, Original } from "../../storage/archive/archive.ts";
import { formsOfRef } from "../../storage/archive/reference.ts";
import { refusePlaceholders } from "../../storage/archive/store.ts";
import type { Values } from "./states.ts";

export type Originals = ReturnType<typeof createOriginals>;

/** A result that is sent in another form, which names its original by `ref`. */
interface Replaced {
	/** The key of the result. */
	readonly key: string;
	readonly paired: PairedResult;
	readonly values: Values;
	readonly ref: string | undefined;
	/** Whether the provider takes all of it out, whatever is sent. */
	readonly isCleared?: boolean | undefined;
}

/** Archiving an original again marks it as used, so that the retention keeps it as long as its placeholder is sent. */
const archivedForMs = 24 * 3_600_000;

const mostArchived = 50_000;

/** A plan holds its conversation until then. */
const longestPutMs = 10_000;

/** Writes originals while the requests that hold them are sent. */
export function createOriginals({
	archive,
	now,
	isPlaceholder,
}: {
	readonly archive: Archive | undefined;
	readonly now: () => number;
	readonly isPlaceholder: (text: string) => boolean;
}) {
	const guarded = archive && refusePlaceholders(archive, isPlaceholder);
	/** An agent program that sends the whole conversation again at its next request holds them elsewhere. */
	const put = async (originals: readonly Original[], isHeldElsewhere = true): Promise<void> => {
		const refs = await inTime(guarded?.put(originals, { isHeldElsewhere }) ?? Promise.resolve([]), longestPutMs, {
			isWaitedFor: false,
		});
		if (!refs) throw new PalimpsestError("archive_unavailable", "The archive does not answer.");
	};
	/** By result, reference and places, when its originals were archived. An answer of ours has no reference, and may be masked. */
	const archivedAt = new Map<string, number>();
	const markOf = ({ key, ref, values, isCleared }: Replaced) =>
		[key, ref, ...(isCleared ? [] : values.keys())].join(" ");
	const noteArchived = (marks: readonly string[], at: number): void => {
		for (const mark of marks) {
			archivedAt.delete(mark);
			archivedAt.set(mark, at);
		}
		for (const oldest of archivedAt.keys()) {
			if (archivedAt.size <= mostArchived) return;
			archivedAt.delete(oldest);
		}
	};
	/** The originals of results that were not archived for long. They alone are held until they are written. */
	const dueOf = (document: unknown, replaced: readonly Replaced[]) => {
		if (!archive) return { marks: [], originals: [] };
		const at = now();
		const due = replaced.filter((one) => {
			return at - (archivedAt.get(markOf(one)) ?? Number.NEGATIVE_INFINITY) > archivedForMs;
		});
		return { marks: due.map(markOf), originals: due.flatMap((one) => originalsOf(document, one, archive)) };
	};
	const write = async ({ marks, originals }: ReturnType<typeof dueOf>): Promise<void> => {
		const at = now();
		if (originals.length > 0) await put(originals.map(({ original }) => original));
		noteArchived(marks, at);
	};
	const writeSent = async (due: ReturnType<typeof dueOf>): Promise<void> => {
		try {
			const late = [...waiting];
			if (late.length > 0) await put(late.map(([, original]) => original));
			for (const [own] of late) waiting.delete(own);
			await write(due);
		} catch (error) {
			for (const { original, own } of due.originals) waiting.set(own, original);
			throw error;
		}
	};
	/** Originals of results that were sent cut, and that could not be written yet. */
	const waiting = new Map<string, Original>();
	return {
		/** False while an original waits to be written: then nothing more is cut. */
		canArchive: () => waiting.size === 0,
		/** Throws PalimpsestError `archive_unavailable` or `ambiguous_reference`; then nothing may be masked. */
		archive: (document: unknown, replaced: readonly Replaced[]): Promise<void> => write(dueOf(document, replaced)),
		/** The same for results that nobody sends again: they are on the disk before it resolves. */
		archiveAlone: async (document: unknown, replaced: readonly Replaced[]): Promise<void> => {
			const { originals } = dueOf(document, replaced);
			if (originals.length > 0)
				await put(
					originals.map(({ original }) => original),
					false,
				);
		},
		/** The same for results that are sent already. Originals that cannot be written wait for the next request. */
		keep: (document: unknown, replaced: readonly Replaced[]): Promise<void> => writeSent(dueOf(document, replaced)),
	};
}

function originalsOf(document: unknown, { paired, values, ref, isCleared }: Replaced, archive: Archive) {
	const { result, call } = paired;
	const places = isCleared ? (["whole"] as const) : Array.from(values.keys());
	return places.flatMap((place) => {
		const number = Number(place.slice(place.indexOf(" ") + 1));
		const isMedia = place.startsWith("media");
		const medium = isMedia ? result.media[number] : undefined;
		const text = medium
			? compactJson(valueAt(document, medium.path))
			: place === "whole"
				? resultText(result)
				: result.texts[number]?.text;
		if (text === undefined || ref === undefined) return [];
		const own = archive.refOf(text);
		// A hook has archived the whole of a result that it had shortened.
		if (places.length === 1 && !formsOfRef(own).includes(ref)) return [];
		const kind = isMedia ? ("media" as const) : ("result" as const);
		return [{ own, original: { kind, text, toolCallId: result.callId, toolName: call?.name } }];
	});
}

/** `undefined` if it takes longer. A process without other work may end before that, unless it is waited for. */
export async function inTime<T>(
	work: Promise<T>,
	milliseconds: number,
	{ isWaitedFor = true }: { readonly isWaitedFor?: boolean } = {},
): Promise<T | undefined> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = setTimeout(() => resolve(undefined), milliseconds);
		if (!isWaitedFor) timer.unref();
	});
	// It may still fail after that.
	work.catch(() => {});
	return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
