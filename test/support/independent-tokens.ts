import { measure } from "../../src/engine/conversation/measure.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { rawList } from "./raw-conversation.ts";
import type { FormatName } from "./script.ts";

type JsonObject = Readonly<Record<string, unknown>>;
type CountTokens = (text: string) => number;

/**
 * Adds up the tokens of a whole conversation by walking its JSON: what each request carries, by the rules that the
 * documentation states, with no code of the product but the tokenizer and the estimate of a single image, recording or
 * document, which has tests of its own.
 */
export function sumTokens(document: unknown, format: FormatName, overhead: number, countTokens: CountTokens): number {
	const count = (value: unknown): number => {
		if (value === undefined || value === null) return 0;
		return countTokens(typeof value === "string" ? value : JSON.stringify(value));
	};
	const fields = format === "openai-chat" ? ["tools", "functions"] : ["system", "tools"];
	const beside = Array.isArray(document) ? [] : fields.map((field) => (document as JsonObject)[field]);
	let sum = beside.reduce<number>((all, value) => all + count(value), 0);
	for (const item of rawList(document)) {
		const message = item as JsonObject;
		sum += overhead + (format === "openai-chat" ? sumOpenai(message, count) : sumBlocks(message.content, count));
	}
	return sum;
}

function sumOpenai(message: JsonObject, count: (value: unknown) => number): number {
	let sum = count(message.name) + count(message.refusal) + sumReasoning(message, count);
	for (const call of (message.tool_calls as JsonObject[] | null | undefined) ?? []) {
		const body = (call.function ?? call.custom) as JsonObject;
		sum += count(body.name) + count(body.arguments ?? body.input);
	}
	if (message.function_call) {
		const call = message.function_call as JsonObject;
		sum += count(call.name) + count(call.arguments);
	}
	if (message.role === "tool") {
		const known = (content: unknown) => sumOpenai({ role: "user", content }, count);
		return sum + sumOpen(message.content, known, count);
	}
	if (!Array.isArray(message.content)) return sum + count(message.content);
	for (const part of message.content as JsonObject[]) {
		if (part.type === "text" && typeof part.text === "string") sum += count(part.text);
		else sum += chatMedia.has(String(part.type)) ? estimate({ role: "tool", content: [part] }, count) : count(part);
	}
	return sum;
}

/** Gateways give reasoning as plain text, as blocks, or as both; then the plain text is that of the blocks. */
function sumReasoning(message: JsonObject, count: (value: unknown) => number): number {
	const lists = [message.reasoning_details, message.thinking_blocks].filter(Array.isArray) as JsonObject[][];
	const blocks = lists.flat();
	if (blocks.length === 0) return count(message.reasoning_content);
	const texts = blocks.map((block) =>
		[block.text, block.summary, block.thinking].filter((text) => typeof text === "string"),
	);
	return texts.reduce((sum, some) => sum + count(some.join("")), 0);
}

const chatMedia = new Set(["image_url", "audio_url", "video_url", "input_audio", "file"]);
const blockMedia = new Set(["image", "document"]);

/** What the product estimates a message of one media part at. */
function estimate(message: JsonObject, countTokens: CountTokens): number {
	return measure(readConversation([message]).transcript, { countTokens, messageOverhead: 0 }).total.tokens;
}

function sumBlocks(content: unknown, count: (value: unknown) => number): number {
	if (!Array.isArray(content)) return count(content);
	let sum = 0;
	for (const block of content as JsonObject[]) {
		if (block.type === "text") sum += count(block.text);
		else if (block.type === "thinking") sum += count(block.thinking);
		else if (block.type === "tool_use") sum += count(block.name) + count(block.input);
		else if (block.type === "tool_result") sum += sumOpen(block.content, (content) => sumBlocks(content, count), count);
		else if (blockMedia.has(String(block.type))) {
			sum += estimate({ role: "user", content: [{ type: "tool_result", content: [block] }] }, count);
		} else sum += count(block);
	}
	return sum;
}

/** What a program put into a result of its own has its long texts counted as texts, and the rest as JSON. */
function sumOpen(content: unknown, sumKnown: (content: unknown) => number, count: (value: unknown) => number): number {
	if (!Array.isArray(content)) return sumKnown(content);
	return (content as unknown[]).reduce<number>((sum, part) => {
		const isOpen = typeof part !== "object" || part === null || typeof (part as JsonObject).type !== "string";
		if (!isOpen) return sum + sumKnown([part]);
		const long: string[] = [];
		const rest = JSON.stringify(part, (_, item: unknown) => {
			if (typeof item !== "string" || item.length < 500) return item;
			long.push(item);
			return "";
		});
		return sum + count(rest) + long.reduce((all, text) => all + count(text), 0);
	}, 0);
}
