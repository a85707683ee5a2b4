import type { Path } from "../../engine/path.ts";
import type { TextNode } from "../../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { type MessageDraft, startMessage } from "../message-draft.ts";
import { readVercelMedia, readVercelReasoning, readVercelSignature } from "./vercel-parts.ts";
import { readVercelTool } from "./vercel-tool.ts";

/** A call as v4 keeps it in `toolInvocations`. */
export interface VercelInvocation {
	readonly tool: JsonObject;
	readonly path: Path;
}

/** The parts of a UI message that one call of the model made. */
export interface VercelStep {
	readonly draft: MessageDraft;
	/** Its parts, and what else goes with them. */
	readonly paths: readonly Path[];
	/** Whether a model is sent anything of it. */
	readonly isSent: boolean;
}

/** The indexes of the parts of each step. What stands before the first `step-start` is a step of its own. */
export function splitVercelSteps(parts: readonly unknown[]): number[][] {
	const steps: number[][] = [];
	parts.forEach((part, index) => {
		const current = steps.at(-1);
		if (current === undefined || (isJsonObject(part) && part.type === "step-start")) steps.push([index]);
		else current.push(index);
	});
	return steps;
}

/** Reads the given parts. Of `copies`, second copies of the calls in the parts, it takes out those that are its own. */
export function readVercelStep(
	parts: readonly unknown[],
	indexes: Iterable<number>,
	path: Path,
	copies: VercelInvocation[],
): VercelStep {
	const draft = startMessage();
	const paths: Path[] = [];
	const sent: unknown[] = [];
	for (const index of indexes) {
		const part = parts[index];
		const at = [...path, index];
		paths.push(at);
		if (!isJsonObject(part) || isForTheScreen(part)) continue;
		sent.push(part.type);
		paths.push(...readPart(part, at, draft, copies));
	}
	// A step that sends nothing else would be gone without its reasoning.
	const { thinking } = draft;
	const onlyThinks = sent.length > 0 && sent.every((type) => type === "reasoning");
	if (onlyThinks) thinking.push(...thinking.splice(0).map((block) => ({ ...block, fixed: true as const })));
	return { draft, paths, isSent: sent.length > 0 };
}

function isForTheScreen(part: JsonObject): boolean {
	const type = stringAt(part, "type") ?? "";
	return type === "step-start" || type.startsWith("source") || type.startsWith("data-");
}

/** Reads a part, and tells what goes with it where it is dropped. */
function readPart(part: JsonObject, path: Path, draft: MessageDraft, copies: VercelInvocation[]): Path[] {
	const type = stringAt(part, "type") ?? "";
	if (type === "tool-invocation" && isJsonObject(part.toolInvocation)) {
		const tool = part.toolInvocation;
		const id = idAt(tool, "toolCallId");
		const position = copies.findIndex((copy) => id !== undefined && idAt(copy.tool, "toolCallId") === id);
		const [copy] = position === -1 ? [] : copies.splice(position, 1);
		const text = copy && stringAt(copy.tool, "result");
		const texts: TextNode[] = text === undefined || !copy ? [] : [{ path: [...copy.path, "result"], text }];
		readVercelTool(tool, stringAt(tool, "toolName"), [...path, "toolInvocation"], draft, texts);
		return copy ? [copy.path] : [];
	}
	if (type === "dynamic-tool" || type.startsWith("tool-")) {
		const name = type === "dynamic-tool" ? stringAt(part, "toolName") : type.slice("tool-".length);
		readVercelTool(part, name || undefined, path, draft);
		return [];
	}
	const thinking = readVercelReasoning(part, path);
	const media = readVercelMedia(part, path);
	if (thinking) {
		draft.thinking.push(thinking);
		draft.counted.push(thinking.text);
	} else if (type === "text") {
		draft.thinking.push(...readVercelSignature(part, path));
		draft.counted.push(asCountedText(part.text));
	} else if (media) draft.mediaTokens += media.tokens;
	else draft.counted.push(asCountedText(part));
	return [];
}
