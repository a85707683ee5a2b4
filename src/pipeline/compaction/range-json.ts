import type { PickedRange } from "../../engine/compaction/pick-range.ts";
import { valueAt } from "../../engine/path.ts";
import { compactJson } from "../../engine/stringify.ts";
import type { ReadConversation } from "../../formats/read-conversation.ts";

/** The JSON of a range of messages, as they stand in the document: the form in which it is archived. */
export function rangeJson({ document, located, transcript }: ReadConversation, { messages }: PickedRange): string {
	const paths = messages.flatMap((index) => transcript.messages[index]?.paths ?? []);
	const depth = located.base.length;
	// Records of one message may stand among those of the next.
	const inPlace = paths.toSorted((one, other) => Number(one[depth]) - Number(other[depth]));
	return compactJson(inPlace.map((path) => valueAt(document, path)));
}
