import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { listOf, objectOf, sha256Of } from "../../formats/json-text/value.ts";
import type { BlockNote, CarrierNote } from "./block-notes.ts";
import type { Remembered } from "./remembered.ts";
import type { HostRequest, WrittenEdit } from "./request.ts";

export interface Swap {
	readonly block: BlockNote;
	/** Index of the message that takes what the block lacks; `undefined` if it lacks nothing or no message can. */
	readonly carrier: number | undefined;
	/** To note before the request is sent, so that every process sends the same. */
	readonly isNew: CarrierNote | undefined;
}

/** The newest block whose messages the host's history begins with; `undefined` after a rewind before them. */
export function swapFor(
	request: Pick<HostRequest<unknown>, "body" | "takesBetas" | "decides">,
	{ blocks, carriers, refusesBlocks }: Pick<Remembered, "blocks" | "carriers" | "refusesBlocks">,
): Swap | undefined {
	if (blocks.length === 0 || refusesBlocks || request.takesBetas !== true) return undefined;
	const messages = listOf(objectOf(request.body).messages);
	const isSame = ({ messages: count, digest }: Pick<BlockNote, "messages" | "digest">) =>
		count < messages.length && digestOf(messages.slice(0, count)) === digest;
	const block = blocks.findLast(isSame);
	if (!block) return undefined;
	if (block.lacks === "") return { block, carrier: undefined, isNew: undefined };
	const last = messages.length - 1;
	const known = carriers.find(
		(one) =>
			one.block === block.digest &&
			one.messages <= messages.length &&
			digestOf(messages.slice(0, one.messages)) === one.digest,
	);
	if (known) return { block, carrier: known.messages - 1, isNew: undefined };
	const mayCarry = request.decides && objectOf(messages[last]).role === "user";
	if (!mayCarry) return { block, carrier: undefined, isNew: undefined };
	const isNew = { block: block.digest, messages: messages.length, digest: digestOf(messages) };
	return { block, carrier: last, isNew };
}

/** The edits that a swap makes, and those of the others that are not about the messages it takes out. */
export function withSwap(
	edits: readonly WrittenEdit[],
	body: unknown,
	swap: Swap | null | undefined,
): readonly WrittenEdit[] {
	if (!swap) return edits;
	const { block, carrier } = swap;
	const isGone = ({ path: [list, index] }: WrittenEdit) => list === "messages" && Number(index) < block.messages;
	const taken: WrittenEdit[] = [{ kind: "replace", path: ["messages", 0], replacement: block.message }];
	for (let index = 1; index < block.messages; index += 1) taken.push({ kind: "remove", path: ["messages", index] });
	return [
		...taken,
		...edits.filter((edit) => !isGone(edit)),
		...(carrier === undefined ? [] : carried(body, carrier, block.lacks)),
	];
}

function carried(body: unknown, carrier: number, text: string): WrittenEdit[] {
	const path = ["messages", carrier, "content"] as const;
	const { content } = objectOf(listOf(objectOf(body).messages)[carrier]);
	if (typeof content === "string") return [{ kind: "replace", path, replacement: `${content}\n\n${text}` }];
	return [{ kind: "insert", path: [...path, listOf(content).length], value: { type: "text", text } }];
}

/**
 * Names messages by all that counts for the model: a host moves its breakpoints of the cache from request to request, and Claude
 * Code sends a text as a text or as a list of one, by turns.
 */
export function digestOf(messages: readonly unknown[]): string {
	return sha256Of(JSON.stringify(messages.map(plainMessage))).slice(0, 32);
}

function plainMessage(message: unknown): unknown {
	const { content, ...rest } = objectOf(message);
	const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
	return { ...rest, content: blocks.map((block) => (isJsonObject(block) ? withoutBreakpoint(block) : block)) };
}

function withoutBreakpoint({ cache_control: _, ...block }: JsonObject): JsonObject {
	return block;
}
