import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { compactByCaller } from "./compact-by-caller.js";
import { type Recalled, recallMasked } from "./recall-masked.js";
import type { ChatMessage } from "./record-session.js";

interface BeforeAfter {
	readonly before: number;
	readonly after: number;
}

/** The numbers of a report that the table shows. */
export interface ShownReport {
	readonly messages: BeforeAfter;
	readonly tool_results: number;
	readonly masked_tool_results: number;
	readonly truncated_tool_results: number;
	readonly dropped_messages: number;
	readonly chars: BeforeAfter;
	readonly tokens: BeforeAfter;
	readonly fits?: boolean;
}

/** What all tools and the policy resource answered. */
export interface Answers {
	readonly mask: { readonly messages: readonly ChatMessage[]; readonly report: ShownReport };
	readonly guard: { readonly messages: readonly ChatMessage[]; readonly report: ShownReport };
	readonly truncate: { readonly text: string; readonly chars: BeforeAfter; readonly tokens: BeforeAfter };
	readonly compact: { readonly messages: readonly ChatMessage[]; readonly report: ShownReport };
	/** Every masked result, read again. */
	readonly recalled: readonly Recalled[];
	readonly policy: { readonly preset: string };
}

/** Calls every tool on a session, as a program that runs an agent would between two turns. */
export async function callTools(
	client: Client,
	messages: readonly ChatMessage[],
	contextWindow: number,
): Promise<Answers> {
	const call = async (name: string, input: Record<string, unknown>): Promise<unknown> => {
		const answer = await client.callTool({ name, arguments: input });
		if (answer.isError) throw new Error(`${name} failed: ${JSON.stringify(answer.content)}`);
		return answer.structuredContent;
	};
	const largest = messages.reduce(
		(text, { content }) => ((content ?? "").length > text.length ? (content ?? "") : text),
		"",
	);
	const read = await client.readResource({ uri: "policy://current" });
	const [content] = read.contents;
	if (!content || !("text" in content)) throw new Error("policy://current has no text");
	const mask = (await call("mask_conversation", { messages })) as Answers["mask"];
	return {
		mask,
		recalled: await recallMasked(client, messages, mask.messages),
		guard: (await call("guard_context", {
			messages,
			context_window: contextWindow,
			policy: { preset: "balanced" },
		})) as Answers["guard"],
		compact: await compactByCaller<Answers["compact"]>(call, messages),
		truncate: (await call("truncate_output", { text: largest })) as Answers["truncate"],
		policy: JSON.parse(content.text).policy,
	};
}
