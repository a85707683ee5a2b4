import type { SummaryProgress, SummaryRequest } from "./summariser.ts";

/** Tells an observer, whose defects are none of the call's. */
export function tellProgress(onProgress: SummaryRequest["onProgress"]): (progress: SummaryProgress) => void {
	return (progress) => {
		try {
			onProgress?.(progress);
		} catch {
			// It may have gone away; the summary is wanted all the same.
		}
	};
}
