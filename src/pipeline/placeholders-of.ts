import { placeholderReader, type ReadPlaceholder } from "../engine/placeholder.ts";
import type { Policy } from "../policy/schema.ts";
import { locales, wordings } from "../policy/wordings.ts";

/** Recognises the placeholders of a policy and of every locale, whichever wrote them in an earlier call. */
export function placeholdersOf(policy: Policy): (text: string) => boolean {
	const read = placeholderReaderOf(policy);
	return (text) => read(text) !== undefined;
}

/** Reads the placeholders of a policy and of every locale, with the reference that they give. */
export function placeholderReaderOf(policy: Policy): ReadPlaceholderText {
	const { placeholder } = wordings(policy);
	const known = readers.get(placeholder);
	if (known) return known;
	const read = readerOf(placeholder);
	if (readers.size >= mostReaders) readers.clear();
	readers.set(placeholder, read);
	return read;
}

type ReadPlaceholderText = (text: string) => ReadPlaceholder | undefined;

// Made for a policy's wording once, since its patterns take longer to make than a short conversation takes to mask.
const readers = new Map<string, ReadPlaceholderText>();
const mostReaders = 16;

function readerOf(ownPlaceholder: string): ReadPlaceholderText {
	// With a reference first: a name or an id might hold what looks like one.
	const templates = Object.values(locales).flatMap(({ archived, recall_hint, ...plain }) => [
		archived.placeholder,
		archived.digest_placeholder,
		archived.media_placeholder,
		archived.placeholder + recall_hint,
		archived.digest_placeholder + recall_hint,
		archived.media_placeholder + recall_hint,
		plain.placeholder,
		plain.digest_placeholder,
		plain.media_placeholder,
	]);
	return placeholderReader([...new Set([ownPlaceholder, ...templates])]);
}
