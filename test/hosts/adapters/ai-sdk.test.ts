import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { streamText, wrapLanguageModel } from "ai";
import { beforeEach, expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/ai-sdk.ts";
import { isMasked, outputOf, textsIn } from "../../proxy/sessions.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { agentTurns, type ScriptedCall, strictProvider } from "./agent-script.ts";
import { runAgent, scriptedModel, scriptedTools, task } from "./ai-sdk-agent.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

const openai = { provider: "openai.chat", modelId: "gpt-5.2" };

it("turns with parallel calls, errors, images and objects are stored as without the adapter, and each request begins with the one before", async () => {
	const turns = agentTurns(11);
	const [alone, ours] = [strictProvider(), strictProvider()];
	const { tools, settled, ...middleware } = palimpsest({ archive: "memory", folder });
	const kept = await runAgent({ turns, model: scriptedModel(turns, alone, openai) });
	const model = scriptedModel(turns, ours, openai);
	expect(await runAgent({ turns, model, middleware, tools, settled })).toEqual(kept);
	expect([ours.refusals, ours.breaks()]).toEqual([[], []]);
	// A long log is cut before it is first sent.
	expect(ours.tokens() / alone.tokens()).toBeLessThan(0.8);
});

/** Turns of one tool, each with a long result. */
const longTurns = (count: number): ScriptedCall[][] =>
	Array.from({ length: count }, (_, turn) => [
		{
			...{ id: `call_LongTurnOfTests${String(turn).padStart(4, "0")}`, tool: "read_file" },
			...{ input: { path: `${turn}.ts` }, gives: { kind: "text", text: outputOf(turn, 9_000) } },
		},
	]);

const maskedIn = (prompt: unknown) => textsIn(prompt).filter(isMasked);

/** The prompt after some turns, as the SDK hands it to a model. */
const promptOf = (turns: readonly (readonly ScriptedCall[])[]) => [
	{ role: "user", content: [{ type: "text", text: task }] },
	...turns.flatMap((calls) => [
		{
			role: "assistant",
			content: calls.map(({ id, tool: toolName, input }) => ({ type: "tool-call", toolCallId: id, toolName, input })),
		},
		{
			role: "tool",
			content: calls.map(({ id, tool: toolName, gives }) => {
				return { type: "tool-result", toolCallId: id, toolName, output: { type: "text", value: gives.text } };
			}),
		},
	]),
];

/** One call after another, as a middleware is asked for them. */
function playing(
	options: Parameters<typeof palimpsest>[0] = {},
	{
		settles = true,
		usageOf = () => ({}),
	}: { settles?: boolean; usageOf?: (prompt: unknown) => { total?: number; cacheRead?: number } } = {},
) {
	const faults: string[] = [];
	const sent: unknown[] = [];
	const context = palimpsest({ archive: "memory", folder, onFault: (line) => faults.push(line), ...options });
	const tools = Object.keys(context.tools).map((name) => ({ type: "function", name }));
	const ask = async (prompt: unknown, refuses: (prompt: unknown) => boolean = () => false) => {
		const doGenerate = async (params: { prompt: unknown }) => {
			sent.push(params.prompt);
			if (refuses(params.prompt)) throw Object.assign(new Error("Refused."), { statusCode: 400 });
			const { total = 20_000, cacheRead = 15_000 } = usageOf(params.prompt);
			return { usage: { inputTokens: { total, cacheRead }, outputTokens: { total: 80 } } };
		};
		const model = { ...openai, doGenerate, doStream: doGenerate };
		await context.wrapGenerate({ params: { prompt, tools }, model });
		if (settles) await context.settled();
		return sent.at(-1);
	};
	const playTo = async (turns: readonly (readonly ScriptedCall[])[]) => {
		// Plans come of the whole history, so the start of a long one is not played.
		for (let count = turns.length > 24 ? 20 : 0; count < turns.length; count += 1)
			await ask(promptOf(turns.slice(0, count)));
		return ask(promptOf(turns));
	};
	return { ...context, ask, playTo, sent, faults };
}

it("another instance on the same folder sends the same bytes, as after a restart", async () => {
	const archive = join(folder, "archive");
	const first = await playing({ archive }).playTo(longTurns(30));
	expect(maskedIn(first).length).toBeGreaterThan(7);
	expect(await playing({ archive }).ask(promptOf(longTurns(30)))).toEqual(first);
});

it("the tools read what is masked, and answer an agent that asks", async () => {
	const { playTo, tools, ask } = playing();
	const [placeholder = ""] = maskedIn(await playTo(longTurns(30)));
	const ref = / #(\w+)\]/.exec(placeholder)?.[1];
	expect(placeholder).toContain("recall_original");
	expect(await tools.recall_original?.execute({ ref, max_tokens: 60 })).toContain("src/part-0/file-1.ts:7: value 1 is");
	expect(await tools.recall_original?.execute({ ref: "0".repeat(12) })).toMatch(/^This reference/);
	const text = String(await tools.mask_conversation?.execute({}));
	const asking: ScriptedCall = {
		id: "call_AskingOfTests00001",
		tool: "query",
		input: { path: "" },
		gives: { kind: "text", text },
	};
	const turns = [...longTurns(4), [{ ...asking, tool: "mask_conversation" as never, input: {} as never }]];
	const other = playing();
	const asked = await other.playTo(turns);
	expect(textsIn(asked).join("\n")).toContain("3 results masked from the next request on");
	expect(maskedIn(await other.ask(promptOf([...turns, ...longTurns(6).slice(5)])))).toHaveLength(3);
	await ask(promptOf([]));
});

it("a request that is refused is sent again whole, and what else is thrown is the program's", async () => {
	const { ask, sent, playTo } = playing();
	await playTo(longTurns(29));
	sent.length = 0;
	const whole = promptOf(longTurns(30));
	await ask(whole, (prompt) => maskedIn(prompt).length > 0);
	expect(sent.at(-1)).toEqual(whole);
	await expect(ask(promptOf(longTurns(31)), () => true)).rejects.toThrow("Refused.");
});

it("a fault leaves the request whole and is reported once", async () => {
	const archive = join(folder, "no-folder");
	await writeFile(archive, "a file");
	const { playTo, faults } = playing({ archive });
	expect(await playTo(longTurns(30))).toEqual(promptOf(longTurns(30)));
	expect(faults).toHaveLength(1);
	expect(faults[0]).not.toContain("value");
	const wrong = playing({
		policy: { preset: "nonsense" } as never,
		onFault: () => {
			throw new Error("of the receiver");
		},
	});
	expect(await wrong.playTo(longTurns(2))).toEqual(promptOf(longTurns(2)));
});

it("an agent whose model answers at once stays within its window", async () => {
	const policy = { guard: { context_window_override: 40_000 } };
	const tokensOf = (prompt: unknown) => JSON.stringify(prompt).length / 4;
	const usageOf = (prompt: unknown) => ({ total: tokensOf(prompt), cacheRead: 0 });
	const { playTo, sent } = playing({ policy }, { settles: false, usageOf });
	await playTo(longTurns(24));
	expect(tokensOf(promptOf(longTurns(24)))).toBeGreaterThan(50_000);
	expect(Math.max(...sent.map(tokensOf))).toBeLessThan(40_000);
});

it("the bills have the usage of the answers", async () => {
	await playing().playTo(longTurns(3));
	const figures = join(folder, "state", "palimpsest", "figures");
	const [day = ""] = await readdir(figures);
	const lines = (await readFile(join(figures, day), "utf8")).split("\n").filter((line) => line !== "");
	const told = { kind: "request", program: "ai-sdk", model: "gpt-5.2", input: 5_000, read: 15_000, output: 80 };
	const requests = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "request");
	expect(requests).toMatchObject(Array(4).fill(told));
});

it("a wrong policy leaves the request whole, and the fault is named in one line", async () => {
	const faults: string[] = [];
	const context = palimpsest({
		...{ archive: "memory", folder, policy: { preset: "none" as "balanced" } },
		onFault: (line) => faults.push(line),
	});
	const prompt = promptOf(longTurns(2));
	const params = { prompt, tools: [] };
	const asked: unknown[] = [];
	const model = {
		...openai,
		doStream: vi.fn(),
		doGenerate: async (sent: typeof params) => ({ asked: asked.push(sent.prompt) }),
	};
	await context.wrapGenerate({ params, model });
	expect(asked).toEqual([prompt]);
	expect(faults).toEqual([expect.stringMatching(/^[^\n]*Invalid policy in `policy`: preset: expected [^\n]*$/)]);
});

it("a streamed answer passes as it is, and its usage counts", async () => {
	const turns = agentTurns(3);
	const [alone, ours] = [strictProvider(), strictProvider()];
	const context = palimpsest({ archive: "memory", folder });
	const chunksOf = async (provider: typeof ours, middleware?: typeof context) => {
		const model = scriptedModel(turns, provider, openai);
		const { fullStream } = streamText({
			model: middleware ? wrapLanguageModel({ model, middleware }) : model,
			...{ prompt: task, tools: scriptedTools(turns) },
		});
		const types: string[] = [];
		for await (const { type } of fullStream) types.push(type);
		return types;
	};
	expect(await chunksOf(ours, context)).toEqual(await chunksOf(alone));
});

it("binary parts and objects of other kinds stay the same objects", async () => {
	const file = { type: "file", data: new Uint8Array(1_000_000), mediaType: "image/png" };
	const link = { type: "file", data: new URL("https://example.com/a.png"), mediaType: "image/png" };
	const { ask } = playing();
	const prompt = [{ role: "user", content: [file, link] }, ...promptOf(longTurns(2)).slice(1)];
	const [first] = (await ask(prompt)) as typeof prompt;
	expect(first).toBe(prompt[0]);
});

it.each([
	["amazon-bedrock", ["Error: no such file", "Error: out of memory", 'Error: {"code":2}', "fine"]],
	["anthropic.messages", ["no such file", "Error: out of memory", { code: 2 }, "fine"]],
])("%s is sent a result's error in its text where its class drops the flag", async (provider, shown) => {
	const outputs = [
		{ type: "error-text", value: "no such file" },
		{ type: "error-text", value: "Error: out of memory" },
		{ type: "error-json", value: { code: 2 } },
		{ type: "text", value: "fine" },
	];
	const ids = outputs.map((_, at) => `call_LostErrorOfTests${at}`);
	const prompt = [
		{ role: "user", content: [{ type: "text", text: task }] },
		{
			role: "assistant",
			content: ids.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "run", input: {} })),
		},
		{
			role: "tool",
			content: ids.map((toolCallId, at) => ({ type: "tool-result", toolCallId, toolName: "run", output: outputs[at] })),
		},
	];
	const before = structuredClone(prompt);
	const { wrapGenerate } = palimpsest({ archive: "memory", folder });
	let sent: typeof prompt = [];
	const doGenerate = async (params: { readonly prompt: typeof prompt }) => {
		sent = params.prompt;
		return {};
	};
	const model = { provider, modelId: "claude-sonnet-5-5", doGenerate, doStream: async () => ({}) };
	await wrapGenerate({ params: { prompt }, model });
	const results = sent[2]?.content as unknown as readonly { readonly output: { readonly value: unknown } }[];
	expect(results.map(({ output }) => output.value)).toEqual(shown);
	expect(prompt).toEqual(before);
	expect(sent[1]).toBe(prompt[1]);
});
