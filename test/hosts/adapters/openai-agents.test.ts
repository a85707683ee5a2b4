import { EventEmitter } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/openai-agents.ts";
import { isMasked, outputOf, textsIn } from "../../proxy/sessions.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

/** Items after some turns, as the SDK hands them to its filter. */
const itemsOf = (turns: number) => [
	{ role: "user", content: "Find out where each value is read." },
	...Array.from({ length: turns }, (_, turn) => [
		{ type: "function_call", callId: `call_${turn}`, name: "read_file", arguments: `{"path":"${turn}.ts"}` },
		{
			type: "function_call_result",
			callId: `call_${turn}`,
			name: "read_file",
			status: "completed",
			output: { type: "text", text: outputOf(turn, 9_000) },
		},
	]).flat(),
];

function playing(options: Parameters<typeof palimpsest>[0] = {}) {
	const faults: string[] = [];
	const context = palimpsest({
		...{ archive: "memory", folder, model: "gpt-5.2", onFault: (line) => faults.push(line) },
		...options,
	});
	const agent = Object.assign(new EventEmitter(), { name: "a", tools: context.tools });
	const run = {};
	const ask = async (input: object[]) => {
		const { input: sent } = await context.callModelInputFilter({ modelData: { input }, agent, context: run });
		const entry = { inputTokens: 20_000, outputTokens: 80, inputTokensDetails: { cached_tokens: 15_000 } };
		agent.emit("agent_tool_start", { context: run, usage: { requestUsageEntries: [entry] } });
		await context.settled();
		return sent;
	};
	const playTo = async (turns: number) => {
		for (const count of [10, 20, turns - 1]) await ask(itemsOf(count));
		return ask(itemsOf(turns));
	};
	return { ...context, agent, ask, playTo, faults };
}

it("old results are masked in what is sent, the tools read them, and the usage of a request is billed once", async () => {
	const { playTo, tools, agent } = playing();
	const input = await playTo(30);
	const [placeholder = ""] = textsIn(input).filter(isMasked);
	const ref = / #(\w+)\]/.exec(placeholder)?.[1];
	expect(input.slice(-2)).toEqual(itemsOf(30).slice(-2));
	const recall = tools.find(({ name }) => name === "recall_original");
	expect(await recall?.invoke({}, JSON.stringify({ ref, max_tokens: 60 }))).toContain("src/part-0/file-1.ts:7");
	expect(await recall?.invoke({}, "no JSON")).toMatch(/^Expected/);
	expect(agent.listenerCount("agent_tool_start")).toBe(1);
	const figures = join(folder, "state", "palimpsest", "figures");
	const [day = ""] = await readdir(figures);
	const lines = (await readFile(join(figures, day), "utf8")).split("\n").filter((line) => line !== "");
	const told = { program: "openai-agents", model: "gpt-5.2", input: 5_000, read: 15_000, output: 80 };
	const requests = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "request");
	expect(requests).toMatchObject(Array(4).fill(told));
});

it("a fault leaves the request whole and is reported once", async () => {
	const archive = join(folder, "no-folder");
	await writeFile(archive, "a file");
	const { playTo, faults } = playing({ archive });
	expect(await playTo(30)).toEqual(itemsOf(30));
	expect(faults).toHaveLength(1);
});

it("ids of calls that a session has dropped come back, so that the second run sends the bytes of the first", async () => {
	const { ask } = playing();
	const callId = "call_SecondRunOfTests0001";
	const call = { type: "function_call", id: "fc_1", callId, name: "read_file", arguments: "{}", status: "completed" };
	const output = { type: "text", text: "Read." };
	const result = { type: "function_call_result", callId, name: "read_file", status: "completed", output };
	const task = { role: "user", content: "Read." };
	const short = { ...call, id: "fc_2", callId: "call_1" };
	const shortResult = { ...result, callId: "call_1" };
	const first = await ask([task, call, result, short, shortResult]);
	const { id: _, ...stored } = call;
	const { id: __, ...storedShort } = short;
	const second = await ask([task, stored, result, storedShort, shortResult, task]);
	// Another conversation may have a call with the same short id.
	expect(JSON.stringify(second)).toBe(JSON.stringify([...first.slice(0, 3), storedShort, shortResult, task]));
	expect(stored).not.toHaveProperty("id");
});
