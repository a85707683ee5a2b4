import { StreamableHTTPClientTransport as NewerTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { guard, mask } from "../../src/index.ts";
import { faces, jsonHeaders, openSession, send } from "../mcp/http/harness.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { isWhole } from "../support/breadth.ts";
import { newerClient, revision } from "../support/client-2026.ts";
import { patience } from "../support/patience.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { handover, standInSummariser } from "../support/stand-in-summariser.ts";
import { poolServer } from "./pool-server.ts";
import { type RecalledAnswer, refsIn, structured } from "./recall-session.ts";

/** Over 1 MB, so that a thread takes it. */
const large = [{ role: "user", content: "é, 中文 and 👍" }, ...agentConversation(520)];
const noLimit = { timeout: 600_000 };

describe.each(faces)("%s", (face) => {
	it.runIf(isWhole || face === faces[0])("answers pings while a thread works on a call of 2 MB", async () => {
		const { connect, pool } = await poolServer({ threads: 1 });
		const [busy, other] = [await connect(face), await connect(face)];
		const huge = agentConversation(1_000);
		expect(JSON.stringify(huge).length).toBeGreaterThan(2_000_000);
		const parameters = { messages: huge, context_window: 100_000, respond_with: "report" };
		let isOver = false;
		const call = busy.client.callTool({ name: "guard_context", arguments: parameters }, undefined, noLimit);
		void call.finally(() => {
			isOver = true;
		});
		await expect.poll(() => pool.stats().running, { interval: 1, ...patience }).toBe(1);
		let pings = 0;
		for (; !isOver; pings += 1) await other.client.ping();
		expect(pings).toBeGreaterThan(20);
		expect(structured<{ report: { fits: boolean } }>((await call) as never).report.fits).toBe(true);
		expect(pool.stats()).toEqual({ running: 0, queued: 0, capacity: 1 });
	});

	it.runIf(isWhole || face === faces[0])("a thread gives the same answers as the library", async () => {
		const { connect, ends } = await poolServer({ threads: 1 });
		const { client } = await connect(face);
		const masked = await client.callTool({ name: "mask_conversation", arguments: { messages: large } });
		const { conversation, report } = await mask(large, {});
		expect(masked.structuredContent).toEqual(JSON.parse(JSON.stringify({ messages: conversation, report })));
		const parameters = { context_window: 50_000, reserve_tokens: 500 };
		const guarded = await client.callTool({ name: "guard_context", arguments: { messages: large, ...parameters } });
		const own = await guard(large, { contextWindow: 50_000, reserveTokens: 500 });
		expect(guarded.structuredContent).toMatchObject(
			JSON.parse(JSON.stringify({ messages: own.conversation, report: { tokens: own.report.tokens } })),
		);
		expect(ends).toMatchObject([
			{ tool: "mask_conversation", outcome: "ok", report: { masked_tool_results: report.masked_tool_results } },
			{ tool: "guard_context", outcome: "ok", report: { fits: true } },
		]);
		for (const end of ends) {
			expect(end.bytesIn).toBeGreaterThan(1_000_000);
			expect(end.bytesOut).toBeGreaterThan(10_000);
		}
	});
});

it.each(["memory", "files"])(
	"one session recalls the original that a thread masked for another, with an archive in %s",
	async (kind) => {
		const { connect } = await poolServer({ threads: 2 }, { where: kind === "memory" ? kind : await scratchFolder() });
		const [one, other] = [await connect(), await connect()];
		const masked = await one.client.callTool({ name: "mask_conversation", arguments: { messages: large } });
		const [ref] = refsIn(structured<{ messages: unknown }>(masked as never).messages);
		const recall = (more: object) => other.client.callTool({ name: "recall_original", arguments: { ref, ...more } });
		expect(structured<RecalledAnswer>((await recall({})) as never).text).toBe(large[4]?.content);
		expect(structured<RecalledAnswer>((await recall({ grep: "line 7:" })) as never).text).toContain("line 7:");
	},
);

it("an answer that is nested is sent as deep as the server can write it, and refused if it is deeper", async () => {
	const { url } = await poolServer({ threads: 1 });
	const headers = { ...jsonHeaders, "mcp-session-id": await openSession(url) };
	const outcomes: string[] = [];
	for (const levels of [1_000, 4_000, 6_000, 8_000, 10_000, 20_000, 40_000]) {
		const part = `{"type":"other","more":"${"x".repeat(70_000)}","value":${"[".repeat(levels)}${"]".repeat(levels)}}`;
		const given = `{"messages":[{"role":"user","content":[${part}]}]}`;
		const params = `{"name":"mask_conversation","arguments":${given}}`;
		const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`;
		const { text } = await send(`${url}/mcp`, { method: "POST", headers, body });
		outcomes.push(text.includes("[".repeat(levels)) ? "sent" : (/\[(payload_too_large)\]/.exec(text)?.[1] ?? text));
	}
	expect(outcomes[0]).toBe("sent");
	expect(outcomes.at(-1)).toBe("payload_too_large");
	expect(new Set(outcomes).size).toBe(2);
});

it("a call that waits for a model does not hold its thread", async () => {
	let [asked, answer] = [(): void => {}, (): void => {}];
	const whenAsked = new Promise<void>((resolve) => {
		asked = resolve;
	});
	const gate = new Promise<void>((resolve) => {
		answer = resolve;
	});
	const endpoint = {
		...standInSummariser(),
		async summarise() {
			asked();
			await gate;
			return { text: handover, finishReason: "stop" as const };
		},
	};
	const loadStrategy = () => Promise.reject(new Error("None is asked for."));
	const { connect, pool, ends } = await poolServer({ threads: 1 }, { compaction: { endpoint, loadStrategy } });
	const { client } = await connect();
	const parameters = { messages: large, strategy: "llm-summary", force: true };
	const call = client.callTool({ name: "compact_conversation", arguments: parameters });
	await whenAsked;
	expect(pool.stats().running).toBe(0);
	await client.callTool({ name: "mask_conversation", arguments: { messages: large, respond_with: "report" } });
	answer();
	const { messages, report } = structured<{ messages: unknown[]; report: object }>((await call) as never);
	expect(report).toMatchObject({ result: "summarised" });
	expect(messages.length).toBeLessThan(large.length);
	expect(ends.map(({ tool }) => tool)).toEqual(["mask_conversation", "compact_conversation"]);
});

it("without sessions a client is asked by rounds, and gets the same answer as in a session", async () => {
	const { url, ends } = await poolServer({ threads: 1 });
	const call = {
		name: "compact_conversation",
		arguments: { messages: large, strategy: "llm-summary", force: true, respond_with: "report" },
	};
	const answers: unknown[] = [];
	for (const mode of ["legacy", { pin: revision }] as const) {
		const client = newerClient(mode, { capabilities: { sampling: {} } });
		onTestFinished(() => client.close());
		client.setRequestHandler("sampling/createMessage", () => {
			const content = { type: "text", text: handover } as const;
			return { role: "assistant", model: "m", content, stopReason: "endTurn" };
		});
		await client.connect(new NewerTransport(new URL(`${url}/mcp`)));
		answers.push((await client.callTool(call)).structuredContent);
	}
	expect(answers[0]).toMatchObject({ report: { result: "summarised", summary: { by: "sampling" } } });
	expect(answers[1]).toEqual(answers[0]);
	expect(ends.map(({ outcome }) => outcome)).toEqual(["ok", "input_required", "ok"]);
});

it("a thread reports invalid arguments too", async () => {
	const { connect, ends } = await poolServer({ threads: 1 });
	const { client } = await connect();
	const said = async (parameters: object) => {
		const { content } = await client.callTool({ name: "mask_conversation", arguments: { ...parameters } });
		return (content as { text: string }[])[0]?.text;
	};
	expect(await said({ messages: large, polcy: {} })).toMatch(/Did you mean policy\?/);
	expect(await said({ messages: [{ no: "x".repeat(100_000) }] })).toMatch(/^\[not_a_conversation\] /);
	expect(await said({ path: "/etc/hostname" })).toMatch(/^\[path_not_allowed\] /);
	expect(ends.map(({ outcome, code }) => [outcome, code])).toEqual([
		["error", "invalid_argument"],
		["error", "not_a_conversation"],
		["error", "path_not_allowed"],
	]);
});
