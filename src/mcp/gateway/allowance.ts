import { PalimpsestError } from "../../errors.ts";
import type { Archive } from "../../storage/archive/archive.ts";

/** What a cut needs of the archive. */
export type Keeping = Pick<Archive, "refOf" | "put">;

/** The originals of a call. `isWhole`: its result has come, so that there are no others. */
export interface KeptOriginals {
	readonly refs: Set<string>;
	isWhole: boolean;
	/** Settles when the results before are archived. */
	before: Promise<void>;
}

export const noneKept = (): KeptOriginals => ({ refs: new Set(), isWhole: false, before: Promise.resolve() });

const dayMs = 24 * 3_600_000;

/**
 * What one server may archive: one result of each call, however often its task tells it, and so many bytes a day. Else a
 * server that sends without end would fill the disk, and push out the originals of others. `now` is in ms.
 */
export function createAllowance({ bytesADay, now }: { readonly bytesADay: number; readonly now: () => number }) {
	let left = bytesADay;
	let countedAt = now();

	const spend = (bytes: number): void => {
		const at = now();
		left = Math.min(bytesADay, left + (bytesADay * (at - countedAt)) / dayMs);
		countedAt = at;
		if (bytes > left) {
			const room = `Expected at most ${bytesADay} bytes of originals of one server in a day, a quarter of archive.max_bytes.`;
			throw new PalimpsestError("archive_unavailable", room);
		}
		left -= bytes;
	};

	/** The archive, as far as a call may write to it. */
	return (archive: Archive, kept: KeptOriginals): Keeping => ({
		refOf: archive.refOf,
		async put(originals, options) {
			for (const { text } of originals) {
				const ref = archive.refOf(text);
				if (kept.refs.has(ref)) continue;
				if (kept.isWhole)
					throw new PalimpsestError("archive_unavailable", "Expected one result of a task; it has sent another one.");
				if (!(await archive.has(ref))) spend(Buffer.byteLength(text));
				kept.refs.add(ref);
			}
			return archive.put(originals, options);
		},
	});
}
