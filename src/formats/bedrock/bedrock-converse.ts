import type { Path } from "../../engine/path.ts";
import type { Message, Role } from "../../engine/transcript.ts";
import { finishResponse, type GivenCall, type LastResponse, memberAt, objectsOf } from "../answer.ts";
import type { Format } from "../format.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { finishMessage, startMessage } from "../message-draft.ts";
import { probeMessages } from "../probe-messages.ts";
import { readEach } from "../read-each.ts";
import { readSurroundings } from "../surroundings.ts";
import { blockKinds, readBedrockBlock } from "./bedrock-blocks.ts";

const roles: Readonly<Record<string, Role>> = { user: "user", assistant: "assistant", system: "system" };

/** The Converse API of AWS Bedrock: content is a list of blocks without `type`, each an object named by its one key. */
export const bedrockConverse: Format = {
	name: "bedrock-converse",
	title: "AWS Bedrock Converse",
	looksFor: "AWS Bedrock Converse messages (`content` a list of blocks such as {text}, {toolUse} and {toolResult})",
	probe: ({ messages }) => probeMessages(messages, "blocks such as {text}, {toolUse} and {toolResult}", probe),
	read(located) {
		return {
			format: "bedrock-converse",
			messages: readEach(located, readMessage),
			surroundings: readSurroundings(located, ["system", "toolConfig"]),
			opensWithUser: true,
			inTurn: true,
		};
	},
	write: {
		message: ({ role, text }) => ({ role, content: [{ text }] }),
		part: { list: ["content"], write: (text) => ({ text }) },
		appends: true,
	},
	answer: { shape: "{stopReason, output} of Bedrock Converse", read: readAnswer },
};

function probe(message: JsonObject, role: string): boolean | string {
	if (role === "tool" || role === "function" || role === "developer") return `no \`role: "${role}"\``;
	if (message.parts !== undefined) return "`content`, not `parts`";
	const { content } = message;
	if (content === undefined || content === null) return false;
	if (!Array.isArray(content)) return "`content` as a list of blocks";
	let certain = false;
	for (const block of content as unknown[]) {
		if (!isJsonObject(block) || Object.hasOwn(block, "type")) return "content blocks without a `type`";
		certain ||= blockKinds.some((kind) => Object.hasOwn(block, kind));
	}
	return certain;
}

function readMessage(message: JsonObject, path: Path): Message {
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	if (Array.isArray(message.content)) {
		(message.content as unknown[]).forEach((block, index) => {
			readBedrockBlock(block, [...path, "content", index], draft);
		});
	} else draft.counted.push(asCountedText(message.content ?? undefined));
	return finishMessage(role, [path], draft);
}

/**
 * Bedrock Converse. As its models differ in what they make of a cut call, one that ends a cut answer is taken to be cut,
 * as with Anthropic's.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const reason = memberAt(response, "stopReason", "stop_reason");
	const { output } = response;
	const isWhole = isJsonObject(output) && isJsonObject(output.message);
	const holder = isWhole ? output : response;
	const message = isJsonObject(holder.message) ? holder.message : response;
	const { content } = message;
	if (!Array.isArray(content) || !content.every(isAnswerBlock)) return undefined;
	if (!isWhole && (reason === undefined || content.length === 0)) return undefined;
	return finishResponse({ reason, ...readAnswerBlocks(content) });
}

/** A block is named by its one key and has no `type`. */
function isAnswerBlock(block: unknown): block is JsonObject {
	return isJsonObject(block) && !Object.hasOwn(block, "type");
}

function readAnswerBlocks(blocks: readonly JsonObject[]) {
	const texts = blocks.flatMap((block) => {
		const { citationsContent } = block;
		const cited = isJsonObject(citationsContent) ? objectsOf(citationsContent.content) : [];
		return [block, ...cited].flatMap((one) => stringAt(one, "text") ?? []);
	});
	const calls = blocks.flatMap(({ toolUse }, index): GivenCall[] => {
		// What the provider runs itself is not the caller's to answer.
		if (!isJsonObject(toolUse) || toolUse.type === "server_tool_use") return [];
		const input = { kind: "parsed_partly", value: toolUse.input } as const;
		const endsAnswer = index === blocks.length - 1;
		return [{ id: idAt(toolUse, "toolUseId"), name: idAt(toolUse, "name"), input, endsAnswer }];
	});
	return { texts, calls };
}
