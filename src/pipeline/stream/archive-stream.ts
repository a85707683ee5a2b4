import type { Archive, Original, OriginalWriter } from "../../archive/archive.ts";
import { PalimpsestError } from "../../errors.ts";
import type { KeptOutput } from "./excerpt-notices.ts";

/** Bytes of one output that are archived at most: of a longer one its beginning. */
export const mostArchivedBytes = 64 * 1024 * 1024;

/** Keeps an output as it passes. A failure ends that and is told at the end, so that the output passes all the same. */
export interface StreamArchiving {
	readonly write: (piece: string) => Promise<void>;
	readonly end: () => Promise<{
		readonly kept?: KeptOutput | undefined;
		readonly failure?: PalimpsestError | undefined;
	}>;
}

/** Begins to keep an output in an archive; without one, keeps nothing. */
export async function archiveStream(
	archive: Archive | undefined,
	original: Omit<Original, "text">,
): Promise<StreamArchiving> {
	let writer: OriginalWriter | undefined;
	let failure: PalimpsestError | undefined;
	const attempt = async <T>(act: () => Promise<T> | undefined): Promise<T | undefined> => {
		try {
			return await act();
		} catch (error) {
			if (!(error instanceof PalimpsestError)) throw error;
			failure = error;
			const broken = writer;
			writer = undefined;
			await broken?.discard().catch(() => {});
			return undefined;
		}
	};
	writer = await attempt(() => archive?.putInPieces(original, mostArchivedBytes));
	return {
		write: async (piece) => {
			if (writer !== undefined) await attempt(() => writer?.write(piece));
		},
		async end() {
			const written = await attempt(() => writer?.end());
			if (written === undefined) return { failure };
			const { ref, bytes, isWhole } = written;
			return { kept: isWhole ? { ref } : { ref, firstBytes: bytes } };
		},
	};
}
