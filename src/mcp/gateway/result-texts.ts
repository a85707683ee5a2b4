import { compactJson, isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import { listOf, stringAt } from "../../formats/json-text/value.ts";

export interface TextPlace {
	readonly path: Path;
	readonly text: string;
	/** The item of the result's list that holds it. */
	readonly item: Path;
	/** The address of a resource. */
	readonly uri: string | undefined;
}

/**
 * The texts of a result of `tools/call` or `resources/read` at a path, without those that the server means for the user alone. Images,
 * recordings and files are none.
 */
export function textsOf(result: JsonObject, path: Path): readonly TextPlace[] {
	const places: TextPlace[] = [];
	const add = (holder: unknown, item: Path, at = item): void => {
		if (isJsonObject(holder) && typeof holder.text === "string" && !isPage(holder))
			places.push({ path: [...at, "text"], text: holder.text, item, uri: stringAt(holder, "uri") });
	};
	for (const [index, block] of listOf(result.content).entries()) {
		if (!isJsonObject(block) || isForUserAlone(block)) continue;
		const item = [...path, "content", index];
		if (block.type === "text") add(block, item);
		else if (block.type === "resource") add(block.resource, item, [...item, "resource"]);
	}
	for (const [index, content] of listOf(result.contents).entries()) add(content, [...path, "contents", index]);
	return places;
}

/** By the `audience` of its annotations (MCP, "Annotations"). */
function isForUserAlone({ annotations }: JsonObject): boolean {
	const audience = isJsonObject(annotations) ? listOf(annotations.audience) : [];
	return audience.length > 0 && !audience.includes("assistant");
}

/** Pages of an app are for the host, which runs them. */
const isPage = ({ uri }: JsonObject) => typeof uri === "string" && uri.startsWith("ui://");

/** The characters of a result: of its texts, and of its structured content as JSON. */
export interface ShownSizes {
	readonly texts: number;
	readonly structured: number | undefined;
}

export function sizesOf(result: JsonObject): ShownSizes {
	const { structuredContent } = result;
	const texts = textsOf(result, []).reduce((sum, { text }) => sum + text.length, 0);
	return { texts, structured: structuredContent === undefined ? undefined : compactJson(structuredContent).length };
}

/**
 * The characters of a result that the model of a host sees: the texts, or where the host shows structured content in their
 * place, that of a call that did not fail.
 */
export function seenChars(
	{ texts, structured }: ShownSizes,
	{ showsStructure, hasFailed }: { readonly showsStructure: boolean; readonly hasFailed: boolean },
): number {
	const isShown = structured !== undefined && (texts === 0 || (showsStructure && !hasFailed));
	return isShown ? structured : texts;
}

/**
 * Whether the model of a host sees structured content in place of the texts, by the name that the host gives itself. Tried
 * with Claude Code 2.1.332 and Codex 0.169.0.
 */
export const showsStructure = (host: string): boolean => /^(?:claude-code|codex)/.test(host);
