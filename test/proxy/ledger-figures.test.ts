import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProxyStatus } from "../../src/proxy/status.ts";
import type { RequestLine } from "../../src/storage/figures/line.ts";
import { openFigures } from "../../src/storage/figures/store.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { linesIn, sendSettled, startPlayed, statusOf } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";

/** The prompt caches of a provider that keeps its own accounts: each answer bills what this conversation has not sent before. */
function accountingProvider() {
	let before = "";
	const accounts = { billed: 0, dollars: 0, requests: 0 };
	const answer = (body: string) => {
		let common = 0;
		while (common < body.length && body[common] === before[common]) common += 1;
		before = body;
		const usage = {
			input_tokens: 3,
			cache_read_input_tokens: Math.floor(common / 4),
			cache_creation_input_tokens: Math.floor((body.length - common) / 4),
			output_tokens: 120,
		};
		// Claude Sonnet 4.5: 3 US dollars a million tokens, a tenth read, five quarters written, five times as much for output.
		const billed = 3 + 0.1 * usage.cache_read_input_tokens + 1.25 * usage.cache_creation_input_tokens;
		accounts.billed += billed;
		accounts.dollars += ((billed + 5 * usage.output_tokens) * 3) / 1_000_000;
		accounts.requests += 1;
		return JSON.stringify({ type: "message", content: [], usage });
	};
	return { accounts, answer };
}

describe("the figures of a proxy", () => {
	it("sum to the provider's own accounts, across a resume in a new process", async () => {
		const folder = join(await scratchFolder(), "figures");
		const provider = accountingProvider();
		const figures = openFigures({ keep: "all", program: "claude", projectFolder: "/a/project", folder });
		const session = await startPlayed({ figures }, ({ body }, response) => {
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(provider.answer(body.toString()));
		});
		const turns = turnsOf(40, 6_000);
		let proxy = await session.start();
		for (let count = 1; count <= 40; count += 1) {
			if (count === 25) proxy = await session.start();
			await sendSettled(proxy, requestOf("anthropic", turns.slice(0, count)));
		}
		const lines = await linesIn(folder, "request");
		const sum = (of: (line: RequestLine) => number) => lines.reduce((all, line) => all + of(line), 0);
		const { billed, dollars, requests } = provider.accounts;
		expect(lines).toHaveLength(requests);
		expect(sum((line) => line.billed) / billed).toBeCloseTo(1, 2);
		expect(sum((line) => line.usd ?? 0) / dollars).toBeCloseTo(1, 2);
		expect(sum((line) => line.decisions ?? 0)).toBeGreaterThan(5);
		expect(sum((line) => line.left_out)).toBeGreaterThan(10_000);
		expect(sum((line) => (line.unedited ?? 0) - line.billed)).toBeGreaterThan(0);
		expect(new Set(lines.map(({ program, model }) => `${program} ${model}`))).toEqual(
			new Set(["claude claude-sonnet-4-5"]),
		);
		expect(JSON.stringify(lines)).not.toContain("value");
		const { edited, conversations } = (await statusOf(proxy)) as ProxyStatus;
		const resumed = lines.slice(24);
		const usd = resumed.reduce((all, line) => all + (line.usd as number), 0);
		const saved = resumed.reduce((all, line) => all + (line.usd_unedited as number), 0) - usd;
		expect([edited.usd, edited.usd_saved]).toEqual([expect.closeTo(usd, 4), expect.closeTo(saved, 4)]);
		expect(conversations[0]).toMatchObject({ program: "claude", folder: "project", usd: edited.usd });
	});

	it.each(["anthropic", "chat", "responses", "gemini"] as const)(
		"name the tools of a conversation once, and each that is called for the first time: %s",
		async (api) => {
			const folder = join(await scratchFolder(), "figures");
			const usage = {
				input_tokens: 9_000,
				prompt_tokens: 9_000,
				promptTokenCount: 9_000,
				output_tokens: 9,
				completion_tokens: 9,
				candidatesTokenCount: 9,
			};
			const figures = openFigures({ keep: "all", program: "claude", folder });
			const { start } = await startPlayed({ figures }, (_, response) => {
				response.writeHead(200, { "Content-Type": "application/json" });
				response.end(JSON.stringify({ content: [], usage, usageMetadata: usage }));
			});
			const proxy = await start();
			const turns = turnsOf(3).map((turn, at) => (at < 2 ? turn : { ...turn, call: { name: "grep", input: {} } }));
			for (let count = 0; count <= 3; count += 1) await sendSettled(proxy, requestOf(api, turns.slice(0, count)));
			const [first, ...others] = await linesIn(folder, "tools");
			expect(first).toMatchObject({ program: "claude", called: ["bash"], session: expect.stringMatching(/^\w{12}$/) });
			expect(first?.offered).toEqual({ bash: expect.any(Number) });
			expect(first?.offered?.bash).toBeGreaterThan(10);
			expect(others).toMatchObject([{ session: first?.session, called: ["grep"] }]);
			expect(others[0]?.offered).toBeUndefined();
			const requests = await linesIn(folder, "request");
			expect(requests.map(({ session }) => session)).toEqual([undefined, ...Array(3).fill(first?.session)]);
		},
	);

	it("name the subagent of a request, with its dollars in the status and in the lines", async () => {
		const folder = join(await scratchFolder(), "figures");
		const provider = accountingProvider();
		const figures = openFigures({ keep: "all", program: "claude", projectFolder: "/a/project", folder });
		const session = await startPlayed({ figures }, ({ body }, response) => {
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(provider.answer(body.toString()));
		});
		const proxy = await session.start();
		const agents = [undefined, "a76cb6e974cab09d2", "an agent\nof its own"];
		for (const [index, agent] of agents.entries()) {
			const { headers, ...request } = requestOf(
				"anthropic",
				turnsOf(3, 2_000 + index).map((turn) => ({ ...turn, id: `${turn.id}${index}` })),
			);
			await sendSettled(proxy, {
				...request,
				headers: { ...headers, ...(agent && { "X-Claude-Code-Agent-Id": encodeURI(agent) }) },
			});
		}
		const names = [undefined, agents[1], expect.stringMatching(/^unnamed [0-9a-f]{8}$/)];
		const lines = await linesIn(folder, "request");
		expect(lines.map(({ agent }) => agent)).toEqual(names);
		const { edited, subagents, conversations } = (await statusOf(proxy)) as ProxyStatus;
		expect(conversations.map(({ agent }) => agent ?? undefined).reverse()).toEqual(names);
		const ofSubagents = lines.slice(1).reduce((sum, { usd = 0 }) => sum + usd, 0);
		expect([subagents.requests, subagents.usd, edited.requests]).toEqual([2, expect.closeTo(ofSubagents, 5), 3]);
	});

	it("have no dollars for a model without a known price", async () => {
		const session = await startPlayed();
		const proxy = await session.start();
		const { body, ...request } = requestOf("chat", turnsOf(3));
		await sendSettled(proxy, {
			...request,
			body: (body as string).replace(/"model": ?"[^"]*"/, '"model":"my-own-model"'),
		});
		const { edited, conversations } = (await statusOf(proxy)) as ProxyStatus;
		expect(conversations[0]?.model).toBe("my-own-model");
		expect(edited).toMatchObject({ usd: null, unpriced_requests: 1, usd_saved: null, usd_untold_requests: 1 });
	});

	it("are estimates where the provider reports no usage", async () => {
		const folder = join(await scratchFolder(), "figures");
		const session = await startPlayed({ figures: openFigures({ keep: "all", folder }) });
		const proxy = await session.start();
		const request = requestOf("anthropic", turnsOf(3));
		await sendSettled(proxy, { ...request, headers: { ...request.headers, "User-Agent": "claude-cli/2.1.332" } });
		const [line] = await linesIn(folder, "request");
		expect(line).toMatchObject({ estimated: true, program: "claude", read: 0 });
		expect(line?.input).toBeGreaterThan(1_000);
	});
});
