import type { Path } from "../../engine/path.ts";
import type { Message, Role } from "../../engine/transcript.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { tokensOfMedia } from "../media/read-media.ts";
import type { OpencodeRecord } from "./opencode-history.ts";
import { type Reading, readOpencodeFile, readOpencodeTool } from "./opencode-tool.ts";

const roles: Readonly<Record<string, Role>> = { user: "user", assistant: "assistant" };

/** Parts that opencode keeps for itself. */
const unsent = new Set(["step-start", "step-finish", "snapshot", "patch", "agent", "retry"]);

/** What opencode says to the model in the place of some parts of a user message. */
const standIns: Readonly<Record<string, string>> = {
	compaction: "What did we do so far?",
	subtask: "The following tool was executed by the user",
};

/** Files whose text stands in text parts beside them. */
const inlinedFiles = new Set(["text/plain", "application/x-directory"]);

/** Keys under which providers keep what binds a reasoning part to its prefix. OpenAI encrypts its own, but checks no prefix. */
const bindings = ["signature", "redactedData", "thoughtSignature"];

/**
 * Reads a record. Mostly it holds one call of the model; where it holds several (each begins with a `step-start` part),
 * every one is a message of its own, made up of its parts. A summary that stands for what was compacted counts as system,
 * since without it what it stands for would be sent again.
 */
export function readOpencodeRecord(
	record: OpencodeRecord,
	path: Path,
	{ isSummary }: { readonly isSummary: boolean },
): Message[] {
	const roleName = stringAt(record.info, "role") ?? "";
	const known = (Object.hasOwn(roles, roleName) && roles[roleName]) || "other";
	const steps = known === "assistant" ? splitIntoSteps(record.parts) : [record.parts.map((_, index) => index)];
	const messages = steps.map((indexes): Message => {
		const reading: Reading = { counted: [], calls: [], results: [], media: [], thinking: [] };
		const partPaths = indexes.map((index) => [...path, "parts", index]);
		for (const [position, index] of indexes.entries()) {
			readPart(record.parts[index] as JsonObject, partPaths[position] as Path, known, reading);
		}
		const { media, ...read } = reading;
		const mediaTokens = tokensOfMedia(media);
		return { role: isSummary ? "system" : known, paths: steps.length > 1 ? partPaths : [path], mediaTokens, ...read };
	});
	const isEmpty = ({ role, counted, mediaTokens }: Message) => role === "user" && counted.length + mediaTokens === 0;
	return messages.filter((message) => !isEmpty(message));
}

/** The indexes of the parts of each step. */
function splitIntoSteps(parts: readonly JsonObject[]): number[][] {
	const steps: number[][] = [];
	let begun = false;
	for (const [index, part] of parts.entries()) {
		const begins = part.type === "step-start";
		const step = steps.at(-1);
		if (!step || (begins && begun)) steps.push([index]);
		else step.push(index);
		begun ||= begins;
	}
	return steps;
}

function readPart(part: JsonObject, path: Path, role: Role, reading: Reading): void {
	const { counted } = reading;
	const type = stringAt(part, "type") ?? "";
	if (type === "text") {
		if (role !== "user" || part.ignored !== true) counted.push(asCountedText(part.text));
	} else if (type === "reasoning") {
		const text = asCountedText(part.text);
		counted.push(text);
		// OpenAI wants a reasoning item beside the call that followed it, so it can't be taken out alone.
		const fixed = hasAny(part.metadata, ["itemId"]) ? { fixed: true as const } : {};
		reading.thinking.push({ path, text, bound: hasAny(part.metadata, bindings), ...fixed });
	} else if (type === "tool") {
		readOpencodeTool(part, path, reading);
	} else if (type === "file") {
		const isMedia = role !== "assistant" && !inlinedFiles.has(stringAt(part, "mime") ?? "");
		if (isMedia) reading.media.push(readOpencodeFile(part, path));
	} else if (Object.hasOwn(standIns, type)) {
		counted.push(standIns[type] ?? "");
	} else if (!unsent.has(type)) {
		counted.push(asCountedText(part));
	}
}

/** Whether what a provider keeps with a part holds a text under one of the keys. */
function hasAny(metadata: unknown, keys: readonly string[]): boolean {
	if (!isJsonObject(metadata)) return false;
	return Object.values(metadata).some(
		(ofProvider) => isJsonObject(ofProvider) && keys.some((key) => stringAt(ofProvider, key)),
	);
}
