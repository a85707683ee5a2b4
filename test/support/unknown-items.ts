import { outputOf } from "./sample-text.ts";
import type { JsonMessage } from "./script.ts";

/** An item of a kind that no format has, with many words. */
export function unknownItem(name: string): JsonMessage {
	return { type: `x_${name}`, id: `${name}_1`, body: { text: outputOf(name), n: 1e21 } };
}

/** Keys of the lists that hold the blocks of a message. */
const blockKeys = ["content", "parts", "response"];

/** Adds a block of an unknown kind to each list of blocks in messages, in the way in which its blocks name their kinds. */
export function withUnknownBlocks(messages: readonly JsonMessage[]): { messages: JsonMessage[]; blocks: number } {
	let blocks = 0;
	const addTo = (value: unknown, isInBlock: boolean): unknown => {
		if (Array.isArray(value)) return value.map((one) => addTo(one, isInBlock));
		if (typeof value !== "object" || value === null) return value;
		const members = Object.entries(value).map(([key, member]) => {
			const isList = blockKeys.includes(key) && Array.isArray(member) && !isInBlock;
			// VS Code keeps results beside the answer.
			if (key === "result") return [key, member];
			if (!isList || typeof member[0] !== "object" || member[0] === null) return [key, addTo(member, isInBlock)];
			blocks += 1;
			return [key, [...member, unknownBlock(member[0])]];
		});
		return Object.fromEntries(members);
	};
	return { messages: messages.map((message) => addTo(message, false) as JsonMessage), blocks };
}

function unknownBlock(beside: object): JsonMessage {
	const text = outputOf("note");
	const key = ["type", "part_kind", "kind"].find((name) => Object.hasOwn(beside, name));
	return key === undefined ? { x_note: { text } } : { [key]: "x_note", body: { text } };
}
