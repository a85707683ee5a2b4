import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/langchain.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

class ChatAnthropic {
	readonly model = "claude-sonnet-5-5";
}

class ChatBedrockConverse {
	readonly model = "anthropic.claude-sonnet-5-5";
}

it.each([
	[new ChatAnthropic(), ["Error: no such file", "Error: out of memory", "fine"]],
	[new ChatBedrockConverse(), ["no such file", "Error: out of memory", "fine"]],
])("%o is sent a result's error in its text where its class drops the flag", async (model, shown) => {
	const folder = await scratchFolder();
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	const results = [
		{ type: "tool", content: "no such file", status: "error" },
		{ type: "tool", content: "Error: out of memory", status: "error" },
		{ type: "tool", content: "fine", status: "success" },
	].map((one, at) => ({ ...one, tool_call_id: `call_LostErrorOfTests${at}` }));
	const calls = results.map(({ tool_call_id: id }) => ({ id, name: "run", args: {}, type: "tool_call" }));
	const messages = [{ type: "human", content: "Run." }, { type: "ai", content: "", tool_calls: calls }, ...results];
	const before = structuredClone(messages);
	const { wrapModelCall } = palimpsest({ archive: "memory", folder });
	let sent: readonly object[] = [];
	await wrapModelCall({ messages, model, tools: [] }, async (request) => {
		sent = request.messages;
		return {};
	});
	vi.unstubAllEnvs();
	expect(sent.slice(2).map((one) => (one as { content: string }).content)).toEqual(shown);
	expect(messages).toEqual(before);
	expect([sent[0], sent[1], sent[4]]).toEqual([messages[0], messages[1], messages[4]]);
	expect(sent[1]).toBe(messages[1]);
});
