import { isJsonObject } from "../engine/conversation/json.js";
import { objectsOf, stringAt } from "./json-text/value.js";
import { readMedia } from "./media.js";
import { mediaContent, noContent, opaque, readOpenContent, readPartList, textContent } from "./parts.js";
export function readOutput(item, type, path) {
	const at = [...path, "output"];
	const { output, status } = item;
	if (type === "shell_call_output") return { ...readStreams(output, at), isError: failedInShell(output) };
	if (type === "computer_call_output") return noContent;
	if (type === "program_output") return readOutputContent(item.result, [...path, "result"]);
	if (type === "mcp_approval_response") return opaque(item.reason);
	if (type !== "apply_patch_call_output")
		return output === undefined ? opaque(item.tools) : readOutputContent(output, at);
	const isError = status === "failed" ? true : status === "completed" ? false : undefined;
	return { ...readOutputContent(output, at), isError };
}
/** Reads the output inside a call of the provider's own tools, if it has one. */
export function readHeldOutput(item, type, path) {
	if (type === "mcp_call") {
		const isError = (typeof item.error === "string" && item.error !== "") || undefined;
		const key = typeof item.output === "string" ? "output" : isError && "error";
		return key && { ...readOutputContent(item[key], [...path, key]), isError };
	}
	if (type === "file_search_call" && Array.isArray(item.results)) {
		return readList(item.results, [...path, "results"], "text", (text) => ({ text }));
	}
	if (type === "code_interpreter_call" && Array.isArray(item.outputs)) {
		return readList(item.outputs, [...path, "outputs"], "logs", (logs) => ({ type: "logs", logs }));
	}
	return undefined;
}
export function readOutputContent(content, path) {
	// In some versions of Codex a string is wrapped in an object.
	const key = isJsonObject(content) && ["content", "output"].find((one) => stringAt(content, one) !== undefined);
	if (key) return textContent(content[key], [...path, key]);
	if (!Array.isArray(content)) return readOpenContent(content, path, readResponseMedia);
	return readPartList(content, path, {
		textKey: (part) => (textOfPart(part) === undefined ? undefined : "text"),
		readOther(part, at) {
			const media = isJsonObject(part) ? readResponseMedia(part, at) : undefined;
			return media ? mediaContent(media) : opaque(part);
		},
	});
}
/** A list of objects with their text under `key`, and of images of the code interpreter. */
function readList(list, path, key, write) {
	return readPartList(list, path, {
		textKey: (one) => (stringAt(one, key) === undefined ? undefined : key),
		readOther(one, at) {
			if (!isJsonObject(one) || one.type !== "image") return opaque(one);
			return mediaContent(readMedia({ path: at, provider: "openai", kind: "image", data: one.url, write }));
		},
		write,
	});
}
/** The streams of the commands of a shell call. A placeholder goes into the first one, so each command keeps its outcome. */
function readStreams(output, path) {
	if (!Array.isArray(output) || output.length === 0 || !output.every(isStreams)) return readOutputContent(output, path);
	const chunks = output;
	const texts = chunks.flatMap((chunk, index) =>
		["stdout", "stderr"].flatMap((key) => {
			const text = stringAt(chunk, key);
			return text ? [{ path: [...path, index, key], text }] : [];
		}),
	);
	const write = (text) => chunks.map((chunk, index) => ({ ...chunk, stdout: index === 0 ? text : "", stderr: "" }));
	return { ...noContent, texts, whole: texts.length > 0 ? { path, write } : undefined };
}
function isStreams(chunk) {
	return isJsonObject(chunk) && stringAt(chunk, "stdout") !== undefined && stringAt(chunk, "stderr") !== undefined;
}
/** Whether a command timed out or its exit code was not 0. */
function failedInShell(output) {
	const outcomes = objectsOf(objectsOf(output).map(({ outcome }) => outcome));
	if (outcomes.length === 0) return undefined;
	return outcomes.some(({ type, exit_code: code }) => type === "timeout" || (typeof code === "number" && code !== 0));
}
/** Tokens of a screenshot that answers a computer call. No text can replace it. */
export function screenshotTokens({ output }) {
	const data = isJsonObject(output) ? output.image_url : undefined;
	return readMedia({ path: [], provider: "openai", kind: "image", data }).tokens;
}
const textParts = new Set(["input_text", "output_text", "text", "summary_text", "reasoning_text"]);
function textOfPart(part) {
	return isJsonObject(part) && textParts.has(stringAt(part, "type") ?? "") ? stringAt(part, "text") : undefined;
}
export function countParts(content, draft) {
	draft.readParts(content, [], (part, path) => {
		const refusal = part.type === "refusal" ? part.refusal : undefined;
		draft.countPart(textOfPart(part) ?? refusal ?? part, readResponseMedia(part, path));
	});
}
function readResponseMedia(part, path) {
	const write = (text) => ({ type: "input_text", text });
	const provider = "openai";
	if (part.type === "input_image") {
		const detail = stringAt(part, "detail");
		return readMedia({ path, provider, kind: "image", data: part.image_url, detail, write });
	}
	if (part.type === "input_file") {
		return readMedia({ path, provider, kind: "document", data: part.file_data ?? part.file_url, write });
	}
	return undefined;
}
