import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CreateMessageRequestSchema, ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSamplingSummariser, type SamplingOptions } from "../../../src/operations/summariser/sampling.ts";
import type { SummaryProgress } from "../../../src/operations/summariser/summariser.ts";
import { patience } from "../../support/patience.ts";
import { fakeClock } from "./fake-clock.ts";

type Handler = (prompt: unknown, signal: AbortSignal) => unknown;

/** A summariser whose requests go to a client of the SDK by its own protocol; without a handler it offers no model. */
async function connect(handler: Handler | undefined, options: Partial<SamplingOptions> = {}) {
	const info = { name: "test", version: "1" };
	const client = new Client(info, { capabilities: handler ? { sampling: {} } : {} });
	const server = new Server(info, { capabilities: {} });
	if (handler) {
		client.setRequestHandler(CreateMessageRequestSchema, async ({ params }, { signal }) => {
			return (await handler(params, signal)) as never;
		});
	}
	const [here, there] = InMemoryTransport.createLinkedPair();
	await Promise.all([server.connect(here), client.connect(there)]);
	onTestFinished(() => client.close());
	// The SDK's client takes the number of a server's first request, 0, for none when that request is cancelled.
	await server.ping();
	const clock = fakeClock();
	const summariser = createSamplingSummariser({
		createMessage: (request, { signal, timeoutMs }) => server.createMessage(request, { signal, timeout: timeoutMs }),
		clock,
		...options,
	});
	const progress: SummaryProgress[] = [];
	const onProgress = (one: SummaryProgress) => void progress.push(one);
	const summarise = (signal?: AbortSignal) =>
		summariser.summarise({ prompt: "Summarise this.", maxTokens: 500, signal, onProgress });
	return { client, summarise, progress, clock };
}

const answer = (text: string, stopReason = "endTurn") => ({
	role: "assistant",
	model: "some-model",
	stopReason,
	content: { type: "text", text },
});

describe("a client of the MCP SDK", () => {
	it("answers", async () => {
		const seen: unknown[] = [];
		const { summarise } = await connect((params) => {
			seen.push(params);
			return answer("a summary");
		});
		expect(await summarise()).toEqual({ text: "a summary", finishReason: "stop" });
		expect(seen).toEqual([
			{
				messages: [{ role: "user", content: { type: "text", text: "Summarise this." } }],
				maxTokens: 500,
				includeContext: "none",
			},
		]);
	});

	it("is asked for a shorter answer when its answer was truncated", async () => {
		const answers = [answer("cut", "maxTokens"), answer("short")];
		const { summarise } = await connect(() => answers.shift());
		expect(await summarise()).toMatchObject({ text: "short" });
	});

	it.each([
		["refuses", new McpError(-1 as ErrorCode, "User rejected sampling request"), "unknown"],
		["fails", new Error("its provider is down"), "server_error"],
		["knows no such parameters", new McpError(ErrorCode.InvalidParams, "?"), "unknown"],
	])("that %s is asked once", async (_, error, code) => {
		let asked = 0;
		const { summarise } = await connect(() => {
			asked += 1;
			throw error;
		});
		await expect(summarise()).rejects.toMatchObject({ name: "PalimpsestError", code });
		expect(asked).toBe(1);
	});

	it("is reported when it has no model", async () => {
		const { summarise } = await connect(undefined);
		await expect(summarise()).rejects.toMatchObject({ code: "model_not_found", is_retryable: false });
	});

	it.each([
		["nothing", undefined],
		["another shape", { text: "a summary" }],
		["an image", { ...answer(""), content: { type: "image", data: "AAAA", mimeType: "image/png" } }],
		["white space", answer("  ")],
	])("that answers with %s is unknown or failed", async (_, given) => {
		const { summarise, clock } = await connect(() => given);
		const error = await summarise().catch((caught: unknown) => caught);
		expect(error).toMatchObject({ name: "PalimpsestError", code: expect.stringMatching(/^(?:unknown|server_error)$/) });
		expect(clock.waits).toEqual([]);
	});

	it("that takes too long is notified, and asked again", async () => {
		const cancelled: boolean[] = [];
		const { summarise, progress, clock } = await connect(
			(_, signal) => {
				if (cancelled.length === 1) return answer("late");
				return new Promise((resolve) => {
					signal.addEventListener("abort", () => {
						cancelled.push(true);
						resolve(answer("too late"));
					});
				});
			},
			{ timeoutMs: 300 },
		);
		expect(await summarise()).toMatchObject({ text: "late" });
		expect(cancelled).toEqual([true]);
		expect(clock.waits).toEqual([2_000]);
		expect(progress).toContainEqual(expect.objectContaining({ kind: "retry", attempt: 1, code: "timeout" }));
	});

	it("that disconnects is reported as a closed connection", async () => {
		const { summarise, client, clock } = await connect(() => {
			void client.close();
			return new Promise(() => {});
		});
		await expect(summarise()).rejects.toMatchObject({ code: "server_error" });
		expect(clock.waits).toEqual([]);
	});

	it("is notified when the call is cancelled", async () => {
		const controller = new AbortController();
		let cancelled = false;
		const { summarise } = await connect((_, signal) => {
			signal.addEventListener("abort", () => {
				cancelled = true;
			});
			controller.abort(new Error("no longer wanted"));
			return new Promise(() => {});
		});
		await expect(summarise(controller.signal)).rejects.toThrow("no longer wanted");
		await expect.poll(() => cancelled, patience).toBe(true);
	});
});
