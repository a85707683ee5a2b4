import { join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/mastra.ts";
import { isMasked, outputOf, textsIn } from "../../proxy/sessions.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

const promptOf = (turns: number) => [
	{ role: "user", content: [{ type: "text", text: "Find out where each value is read." }] },
	...Array.from({ length: turns }, (_, turn) => {
		const call = { toolCallId: `call_${turn}`, toolName: "read_file" };
		const output = { type: "text", value: outputOf(turn, 9_000) };
		return [
			{ role: "assistant", content: [{ type: "tool-call", ...call, input: { at: turn } }] },
			{ role: "tool", content: [{ type: "tool-result", ...call, output }] },
		];
	}).flat(),
];

it("a request that is refused is asked for again, without its edits, and a refusal of the whole one is the program's", async () => {
	const processor = palimpsest({ archive: "memory", folder });
	const state = {};
	const model = { provider: "openai.chat", modelId: "gpt-5.2" };
	const ask = async (turns: number) => {
		processor.processInputStep({ state, tools: processor.tools });
		const { prompt } = (await processor.processLLMRequest({ state, prompt: promptOf(turns), model })) ?? {};
		return prompt;
	};
	const answer = async () => {
		const usage = { inputTokens: 20_000, outputTokens: 80, totalTokens: 20_080, cachedInputTokens: 15_000 };
		processor.processLLMResponse({ state, chunks: [{ type: "finish", payload: { output: { usage } } }] });
		await processor.settled();
	};
	for (const turns of [10, 20, 29]) {
		await ask(turns);
		await answer();
	}
	const [placeholder = ""] = textsIn(await ask(30)).filter(isMasked);
	const ref = / #(\w+)\]/.exec(placeholder)?.[1];
	expect(await processor.tools.recall_original?.execute({ ref, max_tokens: 60 })).toContain("src/part-0/file-1.ts:7");
	const refusal = Object.assign(new Error("Refused."), { statusCode: 400 });
	expect(processor.processAPIError({ state, error: refusal })).toEqual({ retry: true });
	await processor.settled();
	expect(await ask(30)).toBeUndefined();
	expect(processor.processAPIError({ state, error: refusal })).toBeUndefined();
	expect(processor.processAPIError({ state, error: new Error("No network.") })).toBeUndefined();
});
