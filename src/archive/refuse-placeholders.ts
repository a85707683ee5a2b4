import { PalimpsestError } from "../errors.ts";
import type { Archive } from "./archive.ts";

/**
 * The same archive, but one that takes no placeholder for an original: an archive that holds only placeholders has lost
 * what they stood for. `put` then fails with `internal`, since no strategy masks what is masked.
 */
export function refusePlaceholders(archive: Archive, isPlaceholder: (text: string) => boolean): Archive {
	return {
		...archive,
		async put(originals) {
			if (originals.some(({ text }) => isPlaceholder(text))) {
				throw new PalimpsestError(
					"internal",
					"A placeholder was about to be archived as an original. Nothing was archived; please report this.",
				);
			}
			return archive.put(originals);
		},
	};
}
