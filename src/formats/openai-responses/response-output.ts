import type { Path } from "../../engine/path.ts";
import type { TextNode, ToolResult, WholeContent } from "../../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia } from "../media/read-media.ts";
import type { TypedParts } from "../typed-part-list.ts";
import { readTypedParts } from "../typed-parts.ts";
import { readResponseMedia, textOfPart } from "./response-parts.ts";

type Output = ToolResult & { readonly counted: readonly string[] };

const nothing: TypedParts = { texts: [], whole: undefined, media: [], counted: [] };

/** Reads an item that answers a call. `callIds` are the calls of the local shell by the id of their item. */
export function readResponseOutput(
	item: JsonObject,
	type: string,
	path: Path,
	callIds: ReadonlyMap<string, string>,
): Output {
	const of = (content: TypedParts, isError?: boolean): Output => ({
		...content,
		callId: idAt(item, "call_id"),
		copies: [],
		isError,
	});
	const at = [...path, "output"];
	switch (type) {
		case "local_shell_call_output": {
			const id = idAt(item, "id");
			const callId = idAt(item, "call_id") ?? (id === undefined ? undefined : (callIds.get(id) ?? id));
			return { ...of(readContent(item.output, at)), callId };
		}
		case "shell_call_output":
			return of(readStreams(item.output, at), failedInShell(item.output));
		case "apply_patch_call_output": {
			const { status } = item;
			return of(readContent(item.output, at), status === "failed" ? true : status === "completed" ? false : undefined);
		}
		case "computer_call_output":
			return of(nothing);
		case "tool_search_output":
			return of({ ...nothing, counted: [asCountedText(item.tools)] });
		case "program_output":
			return of(readContent(item.result, [...path, "result"]));
		case "mcp_approval_response":
			return {
				...of({ ...nothing, counted: [asCountedText(item.reason)] }),
				callId: idAt(item, "approval_request_id"),
			};
		default:
			return of(readContent(item.output, at));
	}
}

/** The output that a call of the provider's own tools holds itself; `undefined` where it has none. */
export function readHeldOutput(item: JsonObject, type: string, path: Path): Output | undefined {
	const of = (content: TypedParts, isError?: boolean): Output => ({
		...content,
		callId: undefined,
		copies: [],
		isError,
	});
	switch (type) {
		case "mcp_call": {
			const failed = typeof item.error === "string" && item.error !== "";
			if (typeof item.output === "string")
				return of(readContent(item.output, [...path, "output"]), failed || undefined);
			return failed ? of(readContent(item.error, [...path, "error"]), true) : undefined;
		}
		case "file_search_call":
			if (!Array.isArray(item.results)) return undefined;
			return of(readList(item.results, [...path, "results"], "text", (text) => ({ text })));
		case "code_interpreter_call":
			if (!Array.isArray(item.outputs)) return undefined;
			return of(readList(item.outputs, [...path, "outputs"], "logs", (logs) => ({ type: "logs", logs })));
		default:
			return undefined;
	}
}

/** A string, or a list of parts. Anything else the API does not define. */
function readContent(content: unknown, path: Path): TypedParts {
	if (!Array.isArray(content)) return readTypedParts(content, path, readResponseMedia);
	const isText = content.length > 0 && content.every((part) => textOfPart(part) !== undefined);
	if (!isText) return readMixed(content, path);
	const texts = content.map(
		(part, index): TextNode => ({ path: [...path, index, "text"], text: textOfPart(part) ?? "" }),
	);
	const whole: WholeContent = { path, write: (text) => [{ ...(content[0] as JsonObject), text }] };
	return { ...nothing, texts, whole };
}

function readMixed(parts: readonly unknown[], path: Path): TypedParts {
	const read = parts.map((part, index): TypedParts => {
		const at = [...path, index];
		const text = textOfPart(part);
		if (text !== undefined) return { ...nothing, texts: [{ path: [...at, "text"], text }] };
		const media = isJsonObject(part) ? readResponseMedia(part, at) : undefined;
		return media ? { ...nothing, media: [media] } : { ...nothing, counted: [asCountedText(part)] };
	});
	return {
		texts: read.flatMap((one) => one.texts),
		whole: undefined,
		media: read.flatMap((one) => one.media),
		counted: read.flatMap((one) => one.counted),
	};
}

/** A list of objects that hold their text under `key`; beside them images of the code interpreter. */
function readList(list: readonly unknown[], path: Path, key: string, write: (text: string) => JsonObject): TypedParts {
	const read = list.map((one, index): TypedParts => {
		const at = [...path, index];
		const text = isJsonObject(one) ? stringAt(one, key) : undefined;
		if (text !== undefined) return { ...nothing, texts: [{ path: [...at, key], text }] };
		if (!isJsonObject(one) || one.type !== "image") return { ...nothing, counted: [asCountedText(one)] };
		const media = readMedia({ path: at, provider: "openai", kind: "image", data: one.url, write });
		return { ...nothing, media: [media] };
	});
	const texts = read.flatMap((one) => one.texts);
	const isText = texts.length > 0 && texts.length === list.length;
	return {
		texts,
		whole: isText ? { path, write: (text) => [write(text)] } : undefined,
		media: read.flatMap((one) => one.media),
		counted: read.flatMap((one) => one.counted),
	};
}

/**
 * The streams of the commands of a shell call. One text stands for all of them as the first one's standard output: the
 * others become empty, so that each command keeps its outcome.
 */
function readStreams(output: unknown, path: Path): TypedParts {
	if (!Array.isArray(output) || output.length === 0 || !output.every(isStreams)) return readContent(output, path);
	const chunks = output as readonly JsonObject[];
	const texts = chunks.flatMap((chunk, index) =>
		["stdout", "stderr"].flatMap((key): TextNode[] => {
			const text = stringAt(chunk, key);
			return text ? [{ path: [...path, index, key], text }] : [];
		}),
	);
	const write = (text: string) =>
		chunks.map((chunk, index) => ({ ...chunk, stdout: index === 0 ? text : "", stderr: "" }));
	return { ...nothing, texts, whole: texts.length > 0 ? { path, write } : undefined };
}

function isStreams(chunk: unknown): boolean {
	return isJsonObject(chunk) && stringAt(chunk, "stdout") !== undefined && stringAt(chunk, "stderr") !== undefined;
}

/** Whether a command ended otherwise than with exit code 0. */
function failedInShell(output: unknown): boolean | undefined {
	if (!Array.isArray(output)) return undefined;
	const outcomes = output.map((chunk: unknown) => (isJsonObject(chunk) ? chunk.outcome : undefined));
	const known = outcomes.filter(isJsonObject);
	if (known.length === 0) return undefined;
	return known.some(({ type, exit_code }) => type === "timeout" || (typeof exit_code === "number" && exit_code !== 0));
}

/**
 * Tokens of the screenshot that answers a computer call. It is the only thing that such a call takes for an answer, so
 * that no text can stand in its place.
 */
export function screenshotTokens(item: JsonObject): number {
	const data = isJsonObject(item.output) ? item.output.image_url : undefined;
	return readMedia({ path: [], provider: "openai", kind: "image", data }).tokens;
}
