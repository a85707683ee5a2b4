import type { Path } from "../../engine/path.ts";
import type { TextNode } from "../../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { isMcpFailure } from "../mcp-result.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { addResult, type MessageDraft } from "../message-draft.ts";
import { readTypedParts } from "../typed-parts.ts";
import { readVercelSignature } from "./vercel-parts.ts";

/** States in which the arguments are still coming in: such a call is sent to no model. */
const unfinishedStates = new Set(["input-streaming", "partial-call"]);

/** Where the answer stands in each state that has one. */
const resultKeys: Readonly<Record<string, string>> = {
	"output-available": "output",
	"output-error": "errorText",
	result: "result",
};

/**
 * Reads a call with what answered it, as UI messages hold both in one object: `input` and `output`, or `errorText` where
 * the tool failed (v5 and later), or `args` and `result` (v4).
 */
export function readVercelTool(
	tool: JsonObject,
	name: string | undefined,
	path: Path,
	draft: MessageDraft,
	copies: readonly TextNode[] = [],
): void {
	const callId = idAt(tool, "toolCallId");
	const state = stringAt(tool, "state") ?? "";
	draft.thinking.push(...readVercelSignature(tool, path));
	draft.calls.push({ id: callId, name });
	if (!unfinishedStates.has(state)) {
		draft.counted.push(name ?? "", asCountedText(tool.input ?? tool.args ?? tool.rawInput));
	}
	const key = Object.hasOwn(resultKeys, state) ? resultKeys[state] : undefined;
	if (key !== undefined) {
		const content = readTypedParts(tool[key], [...path, key], readInlineMedia);
		addResult(draft, {
			callId,
			...content,
			copies,
			isError: key === "errorText" || isMcpFailure(tool[key]) || undefined,
		});
	} else if (state === "output-denied") {
		const reason = isJsonObject(tool.approval) ? stringAt(tool.approval, "reason") : undefined;
		const counted = reason === undefined ? [] : [reason];
		addResult(draft, { callId, texts: [], whole: undefined, media: [], copies: [], isError: undefined, counted });
	}
}
