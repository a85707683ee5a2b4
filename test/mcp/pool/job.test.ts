import { valueSymbol } from "piscina";
import { expect, it } from "vitest";
import { runJob } from "../../../src/mcp/pool/job.ts";
import { createJobPhase, type ThreadOutcome } from "../../../src/mcp/pool/pool.ts";
import { agentConversation } from "../../support/agent-conversation.ts";

it.each(["plain", "é, 中文 and 👍"])(
	"a thread reads and writes every character of large arguments: %s",
	async (words) => {
		const first = { role: "user", content: words.repeat(2_000) };
		const messages = [first, ...agentConversation(40)];
		const job = {
			id: 7,
			tool: "mask_conversation",
			offered: ["mask_conversation"],
			arguments: new TextEncoder().encode(JSON.stringify({ messages })),
			layers: [],
			policyFile: null,
			allowedPaths: [],
			models: {},
			answers: [],
			phase: createJobPhase(),
		};
		const moved = (await runJob(job)) as unknown as { readonly [valueSymbol]: ThreadOutcome };
		const outcome = moved[valueSymbol];
		if (outcome.kind !== "answer") throw new Error("Expected an answer.");
		const { id, result } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(outcome.message));
		expect(id).toBe(7);
		expect(result.structuredContent.report.masked_tool_results).toBe(32);
		expect(result.structuredContent.messages[0]).toEqual(first);
	},
);
