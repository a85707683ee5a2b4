import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LiveBreak } from "../../src/pages/live-data.ts";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { createLedger } from "../../src/proxy/ledger.ts";
import { type FigureLine, readLine } from "../../src/storage/figures/line.ts";
import { openFigures, readFigures } from "../../src/storage/figures/store.ts";
import { refusalOfPairing } from "../support/pairing-rules.ts";
import { policyOf } from "../support/policy-of.ts";
import { wholeAnswer } from "../support/provider-answers.ts";
import { type Api, createProviderCache } from "../support/provider-cache.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { early, plainFacts, type RunningProxy, sendSettled, startPlayed, statusOf } from "./played.ts";
import { requestOf, type SessionApi, sessionApis, type Turn, turnsOf } from "./sessions.ts";
import type { Received } from "./upstream.ts";

type Json = Record<string, unknown>;

const apis: Readonly<Record<SessionApi, Api>> = {
	anthropic: "anthropic",
	chat: "openai-chat",
	responses: "openai-responses",
	gemini: "gemini",
};

const minute = 60_000;

/** A provider with a cache of its own, which also loses the messages where a setting changes, and refuses calls without results. */
async function startCaching(api: SessionApi, options: Parameters<typeof startPlayed>[0] = {}) {
	let time = Date.UTC(2026, 0, 1);
	let useCache = createProviderCache(() => time);
	let number = 0;
	const answer = ({ body, path }: Received) => {
		const came = JSON.parse(body.toString()) as Json;
		const refusal = refusalOfPairing(apis[api], came);
		if (refusal !== undefined) throw new Error(refusal);
		const model = String(came.model ?? /models\/([^:]+)/.exec(path)?.[1]);
		const list = ["messages", "contents", "input"].find((key) => Array.isArray(came[key])) as string;
		const settings = JSON.stringify([came.tool_choice, came.reasoning_effort, came.reasoning, came.generationConfig]);
		const first = { role: "user", content: [{ type: "text", text: settings }] };
		const usage = useCache(apis[api], model, { ...came, [list]: [first, ...(came[list] as Json[])] });
		number += 1;
		return wholeAnswer(apis[api], { number, model, usage, answer: { kind: "text", text: "Done." } });
	};
	const session = await startPlayed(
		{ policy: policyOf({ preset: "observation-masking", mask: { window_turns: 1_000 } }), now: () => time, ...options },
		(received, response) => {
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(JSON.stringify(answer(received)));
		},
	);
	return {
		...session,
		wait: (ms: number) => {
			time += ms;
		},
		/** The provider drops everything. */
		lose: () => {
			useCache = createProviderCache(() => time);
		},
	};
}

const system = `You are an agent. ${"Read with care, and say which file a value is from. ".repeat(200)}`;
const tools = ["mcp__files__read", "mcp__files__list", "shell"].map((name) => ({
	name,
	description: `Serves ${name}. ${"It takes a path. ".repeat(100)}`,
}));

/** The session of an agent whose requests have a long system prompt and long tools, and what may change between them. */
function agentOf(api: SessionApi, turns: readonly Turn[]) {
	let count = 2;
	let model: string | undefined;
	let prompt = system;
	let offered = tools;
	let more: Json = {};
	let path: string | undefined;
	const changed = new Map<number, string>();
	const setSystem = (body: Json) => {
		if (api === "anthropic") body.system = [{ type: "text", text: prompt, cache_control: { type: "ephemeral" } }];
		if (api === "chat") (body.messages as Json[])[0] = { role: "system", content: prompt };
		if (api === "responses") body.instructions = prompt;
		if (api === "gemini") body.systemInstruction = { parts: [{ text: prompt }] };
	};
	const toolsOf = () => {
		if (api === "anthropic") return offered.map((tool) => ({ ...tool, input_schema: { type: "object" } }));
		if (api === "chat") return offered.map((tool) => ({ type: "function", function: tool }));
		if (api === "responses") return offered.map((tool) => ({ type: "function", ...tool }));
		return [{ functionDeclarations: offered }];
	};
	return {
		change(what: {
			model?: string;
			system?: string;
			tools?: typeof tools;
			settings?: Json;
			output?: [number, string];
		}) {
			if (what.model !== undefined && api === "gemini") path = `/v1beta/models/${what.model}:generateContent`;
			model = what.model ?? model;
			prompt = what.system ?? prompt;
			offered = what.tools ?? offered;
			more = { ...more, ...what.settings };
			if (what.output) changed.set(...what.output);
		},
		async ask(proxy: RunningProxy) {
			count += 1;
			const own = turns.slice(0, count).map((turn, at) => ({ ...turn, output: changed.get(at) ?? turn.output }));
			const request = requestOf(api, own);
			const body = { ...JSON.parse(String(request.body)), ...more, tools: toolsOf() } as Json;
			if (model !== undefined && api !== "gemini") body.model = model;
			setSystem(body);
			const got = await sendSettled(proxy, { ...request, path: path ?? request.path, body: JSON.stringify(body) });
			expect(got.status).toBe(200);
		},
	};
}

const settings: Readonly<Record<SessionApi, Json>> = {
	anthropic: { tool_choice: { type: "any" } },
	chat: { reasoning_effort: "high" },
	responses: { reasoning: { effort: "high" } },
	gemini: { generationConfig: { thinkingConfig: { thinkingBudget: 8_000 } } },
};

const otherModels = { anthropic: "claude-opus-4-1", chat: "gpt-4.1", responses: "gpt-4.1", gemini: "gemini-2.5-flash" };

const breaksOf = async (proxy: RunningProxy): Promise<LiveBreak[]> => (await statusOf(proxy)).conversations[0].breaks;

describe.each(sessionApis)("the cache breaks of a conversation (%s)", (api) => {
	it("have the cause that was provoked, in turn", async () => {
		const folder = join(await scratchFolder(), "figures");
		const session = await startCaching(api, { figures: openFigures({ keep: "all", folder }) });
		const proxy = await session.start();
		const agent = agentOf(api, turnsOf(30, 4_000));
		const provoked: string[] = [];
		const provoke = async (cause: string, change: () => void) => {
			// One that only continues breaks nothing.
			await agent.ask(proxy);
			change();
			await agent.ask(proxy);
			provoked.push(cause);
			const found = await breaksOf(proxy);
			expect(found.map((one) => one.cause)).toEqual(provoked);
			return found.at(-1) as LiveBreak;
		};

		const model = await provoke("model", () => agent.change({ model: otherModels[api] }));
		expect(model.detail).toMatch(new RegExp(` → ${otherModels[api]}$`));
		const more = { name: "mcp__db__query", description: "Asks." };
		const came = await provoke("tools", () =>
			agent.change({ tools: [tools[0] as typeof more, more, tools[2] as typeof more] }),
		);
		expect(came.detail).toBe("tools: +mcp__db__query, -mcp__files__list");
		expect(came.advice).toMatch(/^The tools of your MCP server db /);
		const other = { ...more, description: "Asks politely." };
		const differs = await provoke("tools", () =>
			agent.change({ tools: [tools[0] as typeof more, other, tools[2] as typeof more] }),
		);
		expect(differs.detail).toBe("tools: ~mcp__db__query");
		expect(differs.advice).toMatch(/^Your MCP server db keeps changing its tool list \(2 times\)/);
		const prompt = system.replace("Read with care", "Read with great care");
		const { detail } = await provoke("system", () => agent.change({ system: prompt }));
		expect(detail).toBe(`system differs at 28 of ${String(prompt.length).replace(/(\d{3})$/, " $1")} characters`);
		const effort = await provoke("effort", () => agent.change({ settings: settings[api] }));
		expect(effort.detail).toMatch(/: none → \w+$/);
		const earlier = await provoke("earlier_message", () => agent.change({ output: [2, "The output is gone."] }));
		expect(earlier.detail).toMatch(/^message \d+ of \d+ \((?:tool|user)\)$/);
		const pause = await provoke("pause", () => session.wait(11 * minute));
		expect(pause.detail).toBe("11 min since the last request; the cache lasts 5 min");
		const unknown = await provoke("unknown", () => session.lose());
		expect(unknown.detail).toMatch(/^0 of \d+ \d+ tokens were read; /);
		expect(unknown.advice).toBeNull();

		const all = await breaksOf(proxy);
		for (const one of all) {
			expect(one.tokens).toBeGreaterThan(1_500);
			expect(one.usd).toBeGreaterThan(0);
		}
		const lines: FigureLine[] = [];
		for await (const line of readFigures({ since: 0, folder })) lines.push(line);
		const broken = lines.filter((line) => line.kind === "break");
		expect(broken.map(({ cause, tokens }) => [cause, tokens])).toEqual(all.map(({ cause, tokens }) => [cause, tokens]));
		expect(JSON.stringify(lines)).not.toMatch(/care|value|output is gone/i);
		expect(readLine(JSON.stringify(broken[1]))).toMatchObject({ servers: ["db", "files"] });
	});

	it("are of masking where we mask", async () => {
		const session = await startCaching(api, { policy: early });
		const proxy = await session.start();
		const agent = agentOf(api, turnsOf(12, 6_000));
		for (let count = 0; count < 8; count += 1) await agent.ask(proxy);
		const found = await breaksOf(proxy);
		expect(found.length).toBeGreaterThan(2);
		for (const { cause, detail, advice } of found) {
			expect(cause).toBe("masking");
			expect(detail).toMatch(/^\d results? masked, from message \d+ of \d+ on$/);
			expect(advice).toBeNull();
		}
	});

	it("have the cause pause or cut_on_resume in the first request that a proxy sees", async () => {
		const session = await startCaching(api, { policy: early });
		const agent = agentOf(api, turnsOf(14, 6_000));
		const proxy = await session.start();
		for (let count = 0; count < 6; count += 1) await agent.ask(proxy);
		// The program has shortened the first result itself, so that another placeholder has to say how originals are read.
		agent.change({ output: [0, "Cleared."] });
		const second = await session.start();
		await agent.ask(second);
		expect(await breaksOf(second)).toMatchObject([
			{
				request: 1,
				cause: "cut_on_resume",
				detail: expect.stringMatching(/^1 result masked, from message \d+ of \d+ on$/),
			},
		]);
		session.wait(7 * minute);
		const third = await session.start();
		await agent.ask(third);
		expect(await breaksOf(third)).toMatchObject([{ request: 1, cause: "pause" }]);
	});
});

describe("a fault of the comparison", () => {
	it("reaches neither the bill nor the next request", () => {
		const ledger = createLedger({ now: () => 0 });
		const parts = [{ key: "head", tokens: 9_000 }];
		const fails = () => {
			throw new Error("A defect.");
		};
		const facts = {
			...plainFacts,
			model: "claude-opus-4-5",
			why: "nothing_to_edit",
			terms: cacheTerms({}, "anthropic", policyOf().prices),
			parts: () => ({ unedited: parts, sent: parts }),
			prompt: {
				at: 0,
				idle: undefined,
				head: fails,
				settings: fails,
				roleOf: fails,
				keepsHead: fails,
				called: fails,
				tokensPerToolChar: fails,
				beginsTurn: fails,
			},
		} as const;
		const usage = { input: 0, cacheRead: 0, cacheWrite: 9_000, output: 1 };
		for (let count = 0; count < 3; count += 1) ledger.enter(facts, { api: "anthropic", wasEdited: false, usage });
		expect(ledger.status().conversations[0]).toMatchObject({ requests: 3, breaks: [], tokens_sent: 27_000 });
	});
});
