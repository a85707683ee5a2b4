import type { Path } from "../engine/path.ts";
import type { MediaNode, TextNode, WholeContent } from "../engine/transcript.ts";
import { isLongText, type ReadMedia, readJsonTexts } from "./json-texts.ts";
import { asCountedText, isJsonObject, stringAt } from "./json-values.ts";

/** The content of a result: what may be edited of it, and what is counted beside. */
export interface TypedParts {
	readonly texts: readonly TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: readonly MediaNode[];
	readonly counted: readonly string[];
}

/** Reads a list of parts that name their `type`. One that holds only texts counts as one text. */
export function readTypedPartList(content: readonly unknown[], path: Path, readMedia: ReadMedia): TypedParts {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const counted: string[] = [];
	let isText = content.length > 0;
	content.forEach((part, index) => {
		const at = [...path, index];
		const text = isJsonObject(part) && part.type === "text" ? stringAt(part, "text") : undefined;
		if (text !== undefined) {
			texts.push({ path: [...at, "text"], text });
			return;
		}
		isText = false;
		if (isLongText(part)) {
			texts.push({ path: at, text: part });
			return;
		}
		if (typeof part !== "object" || part === null) {
			counted.push(asCountedText(part));
			return;
		}
		const inside = readJsonTexts(part, at, readMedia);
		texts.push(...inside.texts, ...inside.media.flatMap((node) => node.texts ?? []));
		media.push(...inside.media);
		counted.push(...inside.counted);
	});
	const first = content[0];
	const whole = isText && isJsonObject(first) ? { path, write: (text: string) => [{ ...first, text }] } : undefined;
	return { texts, whole, media, counted };
}
