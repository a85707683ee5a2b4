import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { finishResponse, type GivenCall } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { memberAt, objectsOf } from "./response-members.ts";

/**
 * Bedrock Converse. As its models differ in what they make of a cut call, one that ends a cut answer is taken to be cut,
 * as with Anthropic's.
 */
export const bedrockResponse: ResponseReader = {
	shape: "{stopReason, output} of Bedrock Converse",
	read(response) {
		const reason = memberAt(response, "stopReason", "stop_reason");
		const { output } = response;
		const isWhole = isJsonObject(output) && isJsonObject(output.message);
		const holder = isWhole ? output : response;
		const message = isJsonObject(holder.message) ? holder.message : response;
		const { content } = message;
		if (!Array.isArray(content) || !content.every(isBlock)) return undefined;
		if (!isWhole && (reason === undefined || content.length === 0)) return undefined;
		return finishResponse({ reason, ...readBlocks(content) });
	},
};

/** A block is named by its one key and has no `type`. */
function isBlock(block: unknown): block is JsonObject {
	return isJsonObject(block) && !Object.hasOwn(block, "type");
}

function readBlocks(blocks: readonly JsonObject[]) {
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
