import type { Path } from "../../engine/path.ts";
import type { MediaNode, Message } from "../../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia, tokensOfMedia } from "../media/read-media.ts";
import { readResultContent } from "../part-list.ts";
import { outputCopies } from "../sessions/output-copies.ts";

/** Where an event keeps further copies of what the tool put out: for the timeline, as blocks, for telemetry. */
const copyPlaces = [
	["result", "detailedContent"],
	["result", "contents"],
	["result", "structuredContent"],
	["toolTelemetry"],
] as const;

/**
 * Reads a `tool.execution_complete` event. The model is sent `result.content` and the binaries beside it; of a call that
 * failed, the error's message.
 */
export function readCopilotResult(
	data: JsonObject,
	path: Path,
	argumentsOf: ReadonlyMap<string, ReadonlySet<unknown>>,
): Message {
	const callId = idAt(data, "toolCallId");
	const at = [...path, "data"];
	const result = isJsonObject(data.result) ? data.result : {};
	const isFailure = data.success === false && isJsonObject(data.error);
	const content = isFailure
		? readResultContent((data.error as JsonObject).message, [...at, "error", "message"])
		: readResultContent(result.content, [...at, "result", "content"]);
	const counted = content.others.map(asCountedText);
	const media: MediaNode[] = [];
	const binaries = Array.isArray(result.binaryResultsForLlm) ? (result.binaryResultsForLlm as unknown[]) : [];
	for (const [index, binary] of binaries.entries()) {
		const node = isJsonObject(binary) ? readBinary(binary, [...at, "result", "binaryResultsForLlm", index]) : undefined;
		if (node) media.push(node);
		else counted.push(isJsonObject(binary) ? (stringAt(binary, "description") ?? "") : asCountedText(binary));
	}
	const { texts } = content;
	const ofTheCall = argumentsOf.get(callId ?? "") ?? new Set();
	const copies = copyPlaces.flatMap(([key, inner]) => {
		const outer = Object.hasOwn(data, key) ? data[key] : undefined;
		if (inner === undefined) return outputCopies({ value: outer, path: [...at, key], texts, ofTheCall });
		const value = isJsonObject(outer) && Object.hasOwn(outer, inner) ? outer[inner] : undefined;
		return outputCopies({ value, path: [...at, key, inner], texts, ofTheCall });
	});
	const whole = binaries.length > 0 ? undefined : content.whole;
	const isError = typeof data.success === "boolean" ? !data.success : undefined;
	return {
		role: "tool",
		paths: [path],
		counted,
		mediaTokens: tokensOfMedia(media),
		calls: [],
		results: [{ callId, texts, whole, copies, media, isError }],
		thinking: [],
	};
}

/** A binary that is still there, in the event or in an asset; `undefined` for one that the log has left out already. */
function readBinary(binary: JsonObject, path: Path): MediaNode | undefined {
	if (binary.omittedReason !== undefined) return undefined;
	const mediaType = stringAt(binary, "mimeType");
	const type = stringAt(binary, "type") ?? "resource";
	const byteLength = typeof binary.byteLength === "number" ? binary.byteLength : undefined;
	const kind = type === "image" ? "image" : undefined;
	const node = readMedia({ path, provider: "any", data: stringAt(binary, "data"), mediaType, kind });
	const bytes = byteLength ?? node.bytes;
	// The log's own way to say that a binary is no longer there.
	const write = (text: string) => ({
		type,
		mimeType: mediaType ?? "application/octet-stream",
		byteLength: bytes ?? 0,
		omittedReason: "asset_unavailable",
		description: text,
	});
	return { ...node, bytes, write };
}
