import { PalimpsestError } from "../errors.ts";
import type { Archive, OriginalKind } from "./archive.ts";

const isText: Readonly<Record<OriginalKind, boolean>> = {
	result: true,
	text: true,
	arguments: true,
	group: false,
	media: false,
	places: false,
};

/**
 * The same archive, but one that takes no placeholder for an original: an archive that holds only placeholders has lost
 * what they stood for. `put` then fails with `internal`, since no strategy masks what is masked. JSON is not looked at: a
 * template in brackets might read a list as one, and what was dropped may well hold placeholders.
 */
export function refusePlaceholders(archive: Archive, isPlaceholder: (text: string) => boolean): Archive {
	return {
		...archive,
		async put(originals) {
			if (originals.some(({ kind, text }) => isText[kind] && isPlaceholder(text))) {
				throw new PalimpsestError(
					"internal",
					"A placeholder was about to be archived as an original. Nothing was archived; please report this.",
				);
			}
			return archive.put(originals);
		},
	};
}
