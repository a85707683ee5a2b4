import type { Path } from "../../engine/path.ts";
import type { Message, Role } from "../../engine/transcript.ts";
import type { Format } from "../format.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
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
