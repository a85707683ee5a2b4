import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path, Role } from "../conversation/transcript.ts";
import {
	type Format,
	finishMessage,
	idOfText,
	keptFields,
	probeMessages,
	readEach,
	readSurroundings,
	startMessage,
} from "./format.ts";
import { asCountedText, stringAt } from "./json-values.ts";
import { readMedia, tokensOfMedia } from "./media.ts";
import { readVercelStep, readVercelTool, splitVercelSteps, type VercelInvocation } from "./vercel-model.ts";

const roles: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant" };

/**
 * UI messages of the Vercel AI SDK (`UIMessage`, and those of v4 with `toolInvocation`). A call and its result stand in
 * one part, and one assistant message holds all steps of an answer, each a call of the model, from one `step-start` to
 * the next. Each step is a message here, made up of its parts: a message without some of its steps is valid, and
 * without any it sends nothing to the model. The only step of a message goes with the whole of it. Parts that are for
 * the screen alone (sources, `data-…`) are not counted. Where v4 keeps its calls in `toolInvocations` alone, all of
 * them are one message, as nothing there can be dropped apart.
 */
export const vercelUi: Format = {
	name: "vercel-ui",
	title: "Vercel AI SDK UIMessage",
	looksFor: "Vercel AI SDK UIMessage (`role` and `parts` with a `type` each)",
	probe: ({ messages }) => probeMessages(messages, "`parts` with a `type` each, or `toolInvocations`", probe),
	read(located) {
		return {
			format: "vercel-ui",
			messages: readEach(located, readMessages),
			surroundings: readSurroundings(located, ["system", "instructions", "tools"]),
			opensWithUser: false,
		};
	},
	write: { message: writeMessage, appends: true },
};

function probe(message: JsonObject, role: string): boolean | string {
	if (role === "model") return "`role` system, user or assistant";
	const { parts, content, toolInvocations } = message;
	if (parts === undefined) {
		// Before v5 the parts could be left out.
		if (content !== undefined && typeof content !== "string") return "`parts`, or `content` as a string";
		if (role === "tool" || Array.isArray(message.tool_calls)) return "calls and results in `parts`";
		return Array.isArray(toolInvocations) && toolInvocations.length > 0;
	}
	if (!Array.isArray(parts)) return "`parts` as a list";
	const isPart = (part: unknown) => isJsonObject(part) && typeof part.type === "string";
	if (!parts.every(isPart)) return "`parts` with a `type` each";
	return parts.length > 0;
}

function readMessages(message: JsonObject, path: Path): Message[] {
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const invocations = readInvocations(message, path);
	if (!Array.isArray(message.parts)) {
		const draft = startMessage();
		draft.counted.push(stringAt(message, "reasoning") ?? "", asCountedText(message.content ?? undefined));
		for (const { tool, path: at } of invocations) readVercelTool(tool, stringAt(tool, "toolName"), at, draft);
		draft.mediaTokens += tokensOfAttachments(message, path);
		return [finishMessage(role, [path], draft)];
	}
	const parts: readonly unknown[] = message.parts;
	const partsPath = [...path, "parts"];
	if (role !== "assistant") {
		const { draft } = readVercelStep(parts, parts.keys(), partsPath, invocations);
		draft.mediaTokens += tokensOfAttachments(message, path);
		return [finishMessage(role, [path], draft)];
	}
	const steps = splitVercelSteps(parts)
		.map((indexes) => readVercelStep(parts, indexes, partsPath, invocations))
		.filter((step) => step.isSent);
	return steps.map(({ draft, paths }) => finishMessage(role, steps.length === 1 ? [path] : paths, draft));
}

/** What v4 keeps in `toolInvocations`: the calls themselves, or second copies of those in the parts. */
function readInvocations(message: JsonObject, path: Path): VercelInvocation[] {
	if (!Array.isArray(message.toolInvocations)) return [];
	return message.toolInvocations.flatMap((tool: unknown, index) =>
		isJsonObject(tool) ? [{ tool, path: [...path, "toolInvocations", index] }] : [],
	);
}

/** Estimate of the files that v4 sends along with a user's text. */
function tokensOfAttachments(message: JsonObject, path: Path): number {
	const attachments = message.experimental_attachments;
	if (!Array.isArray(attachments)) return 0;
	const media = attachments.filter(isJsonObject).map((one) => {
		return readMedia({ path, provider: "any", mediaType: stringAt(one, "contentType"), data: one.url });
	});
	return tokensOfMedia(media);
}

/** v4 wants the text as `content` besides, and has the time of a message of its own. */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const isOld = isJsonObject(instead) && stringAt(instead, "content") !== undefined;
	return {
		id: idOfText(`${role}\n${text}`),
		...keptFields(instead, ["id"]),
		...(isOld ? { ...keptFields(instead, ["createdAt"]), content: text } : {}),
		role,
		parts: [{ type: "text", text }],
	};
}
