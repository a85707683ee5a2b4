import type { Path } from "../../engine/path.ts";
import type { MediaNode, TextNode, ToolResult, WholeContent } from "../../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readResponseMedia, textOfPart } from "../openai-responses/response-parts.ts";
import { outputCopies } from "../sessions/output-copies.ts";
import type { HistoryItem } from "./codex-history.ts";

/** Where events of the user interface repeat what a tool answered. */
const copyKeys = ["stdout", "stderr", "aggregated_output", "formatted_output", "result", "content_items"];

/** Reads an item that answers a call, with the events about it. `counted` is what it holds beside texts. */
export function readCodexOutput({
	item,
	path,
	ended,
}: Pick<HistoryItem, "item" | "path" | "ended">): ToolResult & { counted: string[] } {
	const { texts, whole, media, counted } = readContent(item.output, [...path, "output"]);
	if (item.output === undefined && item.tools !== undefined) counted.push(asCountedText(item.tools));
	const copies = ended.flatMap((event) =>
		copyKeys
			.filter((key) => Object.hasOwn(event.payload, key))
			.flatMap((key) => {
				const place = [...event.path, key];
				return outputCopies({ value: event.payload[key], path: place, texts, ofTheCall: new Set() });
			}),
	);
	const flags = [...ended.map(({ payload }) => flagOfEvent(payload)), flagOfOutput(item.output)];
	const isError = flags.find((flag) => flag !== undefined);
	return { callId: idAt(item, "call_id"), texts, whole, copies, media, isError, counted };
}

interface Content {
	readonly texts: TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: MediaNode[];
	readonly counted: string[];
}

/** An output is a string, a list of parts, or (in some versions) an object around a string. */
function readContent(output: unknown, path: Path): Content {
	if (typeof output === "string") return readText(output, path);
	if (Array.isArray(output)) return readParts(output, path);
	if (isJsonObject(output)) {
		for (const key of ["content", "output"]) {
			const inner = stringAt(output, key);
			if (inner !== undefined) return readText(inner, [...path, key]);
		}
	}
	const counted = output === undefined || output === null ? [] : [asCountedText(output)];
	return { texts: [], whole: undefined, media: [], counted };
}

function readText(text: string, path: Path): Content {
	return { texts: [{ path, text }], whole: { path, write: (written) => written }, media: [], counted: [] };
}

function readParts(parts: readonly unknown[], path: Path): Content {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const counted: string[] = [];
	parts.forEach((part, index) => {
		const at = [...path, index];
		const text = textOfPart(part);
		const node = isJsonObject(part) ? readResponseMedia(part, at) : undefined;
		if (text !== undefined) texts.push({ path: [...at, "text"], text });
		else if (node) media.push(node);
		else counted.push(asCountedText(part));
	});
	const first = parts[0];
	const isText = texts.length > 0 && texts.length === parts.length && isJsonObject(first);
	const whole = isText ? { path, write: (text: string) => [{ ...first, text }] } : undefined;
	return { texts, whole, media, counted };
}

/** Whether a call failed, as the event about its end tells. */
function flagOfEvent(payload: JsonObject): boolean | undefined {
	if (typeof payload.exit_code === "number") return payload.exit_code !== 0;
	if (typeof payload.success === "boolean") return !payload.success;
	const { result } = payload;
	if (!isJsonObject(result)) return undefined;
	if (Object.hasOwn(result, "Err")) return true;
	return isJsonObject(result.Ok) && typeof result.Ok.isError === "boolean" ? result.Ok.isError : undefined;
}

/**
 * Whether a call failed, as an output that is an object tells. Where the exit code stands in the text of the output
 * itself it is no flag: it would be gone with the text.
 */
function flagOfOutput(output: unknown): boolean | undefined {
	if (!isJsonObject(output)) return undefined;
	if (typeof output.success === "boolean") return !output.success;
	const code = isJsonObject(output.metadata) ? output.metadata.exit_code : undefined;
	return typeof code === "number" ? code !== 0 : undefined;
}
