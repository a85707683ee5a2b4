import { createHash } from "node:crypto";

interface Block {
	readonly type: string;
	readonly signature?: string;
}

/** A message of Anthropic's API, also as a record of Claude Code holds it. */
export interface Said {
	readonly role: string;
	readonly content: string | readonly Block[];
}

const isThinking = ({ type }: Block) => type === "thinking" || type === "redacted_thinking";

/**
 * The signature of a reasoning block, as a model gives it that binds reasoning: of all that was sent before it without
 * its reasoning, and of the reasoning block before it.
 */
export function boundSignature(before: readonly Said[]): string {
	const plain: string[] = [];
	let last = "";
	for (const { role, content } of before) {
		const blocks = typeof content === "string" ? [{ type: "text", text: content } as Block] : content;
		for (const block of blocks) {
			if (isThinking(block)) last = block.signature ?? "";
			// How a program groups blocks into messages does not count.
			else plain.push(`${role} ${JSON.stringify(block)}`);
		}
	}
	return createHash("sha256")
		.update(JSON.stringify([plain, last]))
		.digest("base64");
}

/** Reasoning blocks that the API refuses, and all that it sees, as places of messages. */
export function checkReasoning(sent: readonly Said[]): { readonly refused: number[]; readonly valid: number[] } {
	const refused: number[] = [];
	const valid: number[] = [];
	sent.forEach(({ role, content }, index) => {
		if (typeof content === "string") return;
		content.forEach((block, item) => {
			if (!isThinking(block)) return;
			const before = [...sent.slice(0, index), { role, content: content.slice(0, item) }];
			(block.signature === boundSignature(before) ? valid : refused).push(index);
		});
	});
	return { refused, valid };
}
