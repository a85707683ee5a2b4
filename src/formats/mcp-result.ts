import type { Path } from "../engine/path.ts";
import type { ReadMedia } from "./json-texts.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "./json-values.ts";
import { readTypedPartList, type TypedParts } from "./typed-part-list.ts";

const blockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);
/** What stands beside the `content` of a result; with `structuredContent` the same output stands there again. */
const besideContent = new Set(["content", "isError", "_meta"]);

/**
 * Reads a result that is what an MCP server returned (`CallToolResult`), as programs pass it on to APIs that take any
 * JSON: `{content: [{type: "text", text}, …], isError}`. Its blocks count as a list of parts; what stands around them
 * stays. `undefined` for any other object.
 */
export function readMcpResult(result: JsonObject, path: Path, readMedia: ReadMedia): TypedParts | undefined {
	if (!isMcpResult(result)) return undefined;
	const blocks = result.content as readonly JsonObject[];
	const read = readTypedPartList(blocks, [...path, "content"], readMedia);
	const frame = { ...result, content: blocks.map((block) => (block.type === "text" ? { ...block, text: "" } : "")) };
	return { ...read, counted: [...read.counted, asCountedText(frame)] };
}

/** Whether a result that is what an MCP server returned says that the tool failed. */
export function isMcpFailure(result: unknown): boolean {
	return isJsonObject(result) && result.isError === true && isMcpResult(result);
}

function isMcpResult(result: JsonObject): boolean {
	const { content } = result;
	if (!Array.isArray(content) || content.length === 0) return false;
	if (!Object.keys(result).every((key) => besideContent.has(key))) return false;
	return (content as unknown[]).every(
		(block) =>
			isJsonObject(block) &&
			blockTypes.has(block.type) &&
			(block.type !== "text" || stringAt(block, "text") !== undefined),
	);
}
