import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { listOf, objectOf, sha256Of } from "../../formats/json-text/value.ts";
import type { BlockNote, CarrierNote } from "./block-notes.ts";
import type { Remembered } from "./remembered.ts";
import type { HostRequest, WrittenEdit } from "./request.ts";

export interface Swap {
	readonly block: BlockNote;
	/** Texts that blocks lack, by the index of the message that takes each: those of earlier blocks stay where they were sent. */
	readonly carried: readonly { readonly at: number; readonly text: string }[];
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
	const beginsWith = (one: Pick<BlockNote, "messages" | "digest">) =>
		one.messages <= messages.length && digestOf(messages.slice(0, one.messages)) === one.digest;
	const block = blocks.findLast((one) => one.messages < messages.length && beginsWith(one));
	if (!block) return undefined;
	const carrierOf = ({ digest }: BlockNote) => carriers.find((one) => one.block === digest && beginsWith(one));
	// Reasoning behind a message that was sent with such a text is bound to it.
	const carried = blocks.flatMap((one) => {
		const at = one.lacks === "" ? -1 : (carrierOf(one)?.messages ?? 0) - 1;
		return at >= block.messages ? [{ at, text: one.lacks }] : [];
	});
	const last = messages.length - 1;
	const mayCarry = request.decides && objectOf(messages[last]).role === "user";
	if (block.lacks === "" || carrierOf(block) || !mayCarry) return { block, carried, isNew: undefined };
	const isNew = { block: block.digest, messages: messages.length, digest: digestOf(messages) };
	return { block, carried: [...carried, { at: last, text: block.lacks }], isNew };
}

/** The edits that a swap makes, and those of the others that are not about the messages it takes out. */
export function withSwap(
	edits: readonly WrittenEdit[],
	body: unknown,
	swap: Swap | null | undefined,
): readonly WrittenEdit[] {
	if (!swap) return edits;
	const { block, carried } = swap;
	const isGone = ({ path: [list, index] }: WrittenEdit) => list === "messages" && Number(index) < block.messages;
	const taken: WrittenEdit[] = [{ kind: "replace", path: ["messages", 0], replacement: block.message }];
	for (let index = 1; index < block.messages; index += 1) taken.push({ kind: "remove", path: ["messages", index] });
	const texts = new Map<number, string>();
	for (const { at, text } of carried) texts.set(at, [texts.get(at) ?? [], text].flat().join("\n\n"));
	const carrying = Array.from(texts).flatMap(([at, text]) => added(body, at, text));
	return [...taken, ...edits.filter((edit) => !isGone(edit)), ...carrying];
}

function added(body: unknown, carrier: number, text: string): WrittenEdit[] {
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
