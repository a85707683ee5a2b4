import type { Archive, Original } from "../archive/archive.ts";
import { formsOfRef } from "../archive/reference.ts";
import { refusePlaceholders } from "../archive/store.ts";
import { compactJson } from "../conversation/json.ts";
import { valueAt } from "../conversation/paths.ts";
import { resultText } from "../conversation/transcript.ts";
import type { PairedResult } from "../conversation/turns.ts";
import { PalimpsestError } from "../errors.ts";
import type { Values } from "./states.ts";

export type Originals = ReturnType<typeof createOriginals>;

/** A result that is sent in another form, which names its original by `ref`. */
interface Replaced {
	readonly paired: PairedResult;
	readonly values: Values;
	readonly ref: string | undefined;
	/** Whether the provider takes all of it out, whatever is sent. */
	readonly isCleared?: boolean | undefined;
}

/** Archiving an original again marks it as used, so that the retention keeps it as long as its placeholder is sent. */
const archivedForMs = 24 * 3_600_000;

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
	/** The agent program sends the whole conversation again at its next request. */
	const put = async (originals: readonly Original[]): Promise<void> => {
		const refs = await inTime(guarded?.put(originals, { isHeldElsewhere: true }) ?? Promise.resolve([]), longestPutMs, {
			isWaitedFor: false,
		});
		if (!refs) throw new PalimpsestError("archive_unavailable", "The archive does not answer.");
	};
	const archivedAt = new WeakMap<Values, number>();
	/** Originals of results that were sent cut, and that could not be written yet. */
	const waiting = new Map<string, Original>();
	return {
		/** False while an original waits to be written: then nothing more is cut. */
		canArchive: () => waiting.size === 0,
		/** Throws PalimpsestError `archive_unavailable` or `ambiguous_reference`; then nothing may be masked. */
		async archive(document: unknown, replaced: readonly Replaced[]): Promise<void> {
			if (!archive) return;
			const at = now();
			const due = replaced.filter(
				({ values }) => at - (archivedAt.get(values) ?? Number.NEGATIVE_INFINITY) > archivedForMs,
			);
			const originals = due.flatMap((one) => originalsOf(document, one, archive));
			if (originals.length > 0) await put(originals.map(({ original }) => original));
			for (const { values } of due) archivedAt.set(values, at);
		},
		/** The same for results that are sent already. Originals that cannot be written wait for the next request. */
		async keep(document: unknown, replaced: readonly Replaced[]): Promise<void> {
			try {
				const due = [...waiting];
				if (due.length > 0) await put(due.map(([, original]) => original));
				for (const [own] of due) waiting.delete(own);
				await this.archive(document, replaced);
			} catch (error) {
				for (const one of replaced) {
					if (!archive || archivedAt.has(one.values)) continue;
					for (const { original, own } of originalsOf(document, one, archive)) waiting.set(own, original);
				}
				throw error;
			}
		},
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
