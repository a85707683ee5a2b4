import assert from "node:assert/strict";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { ChatMessage } from "./record-session.js";

/** One result that was masked and read again. */
export interface Recalled {
	readonly placeholder: string;
	/** Calls that it took to read all of it. */
	readonly calls: number;
	readonly chars: number;
	/** The line that stands before the text in the first answer. */
	readonly introduction: string;
}

interface RecalledPart {
	readonly next: Readonly<Record<string, unknown>> | null;
}

/**
 * Reads every masked result again as a model would: takes the reference out of the placeholder, recalls by it, and goes
 * on as each answer says, until all is read. What came must be the very text that was masked.
 */
export async function recallMasked(
	client: Client,
	before: readonly ChatMessage[],
	after: readonly ChatMessage[],
): Promise<Recalled[]> {
	const recalled: Recalled[] = [];
	for (const [index, { content }] of after.entries()) {
		if (content === before[index]?.content) continue;
		const [, ref] = /ref=(\w+)/.exec(content ?? "") ?? [];
		assert.ok(ref, "a placeholder names its original");
		let [text, introduction, calls] = ["", "", 0];
		let parameters: Readonly<Record<string, unknown>> | null = { ref, max_tokens: 20_000 };
		for (; parameters !== null; calls += 1) {
			const answer = await client.callTool({ name: "recall_original", arguments: parameters });
			if (answer.isError) throw new Error(`recall_original failed: ${JSON.stringify(answer.content)}`);
			const [block] = answer.content as { readonly text: string }[];
			const [line = "", ...lines] = block?.text.split("\n") ?? [];
			introduction ||= line;
			text += lines.join("\n");
			const { "palimpsest/facts": facts } = (answer._meta ?? {}) as { readonly "palimpsest/facts": RecalledPart };
			parameters = facts.next;
		}
		assert.equal(text, before[index]?.content, "what is recalled is what was masked, to the byte");
		recalled.push({ placeholder: content ?? "", calls, chars: text.length, introduction });
	}
	return recalled;
}
