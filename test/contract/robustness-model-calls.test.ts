import { describe, expect, it, onTestFinished } from "vitest";
import { SummariserError } from "../../src/errors.ts";
import { type CompactOptions, compact } from "../../src/library.ts";
import type { CompactOutcome } from "../../src/operations/compaction-request.ts";
import { createOpenAiCompatible } from "../../src/operations/summariser/endpoint.ts";
import type { SummaryProgress } from "../../src/operations/summariser/summariser.ts";
import { type Behaviour, complete, hang, refuse, startChatServer } from "../operations/summariser/chat-server.ts";
import { fakeClock } from "../operations/summariser/fake-clock.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { patience } from "../support/patience.ts";
import { handover } from "../support/stand-in-summariser.ts";

const conversation = deepFreeze(agentConversation(8));

/** Summarises by an endpoint of the test's own, which behaves as told; the waits are those of a fake clock, in seconds. */
async function summarise(behaviours: readonly Behaviour[], options: CompactOptions = {}, timeoutMs = 60_000) {
	const server = await startChatServer(...behaviours);
	const clock = fakeClock();
	const summariser = createOpenAiCompatible({ baseUrl: server.baseUrl, model: "some-model", clock, timeoutMs });
	onTestFinished(() => summariser.close());
	const progress: SummaryProgress[] = [];
	const policy = { preset: "context-trim" } as const;
	const given = { policy, summariser, force: true, onProgress: (one: SummaryProgress) => progress.push(one) };
	let [outcome, error]: [CompactOutcome | undefined, unknown] = [undefined, undefined];
	try {
		outcome = await compact(conversation, { ...given, ...options });
	} catch (caught) {
		error = caught;
	}
	return { server, summariser, outcome, error, progress, delays: clock.waits.map((ms) => ms / 1_000) };
}

describe("Every model call is retried 3 times, after 2, 4 and 8 s (docs/compaction.md#retries)", () => {
	it.each([429, 500, 502, 503, 504])(
		"HTTP %i three times, then an answer: the conversation is summarised",
		async (status) => {
			const failing = refuse(status);
			const { outcome, delays, server } = await summarise([failing, failing, failing, complete(handover)]);
			expect(outcome?.report.result).toBe("summarised");
			expect(delays).toEqual([2, 4, 8]);
			expect(server.requests).toHaveLength(4);
		},
	);

	it("fails after three retries, and changes nothing", async () => {
		const { error, delays, server } = await summarise([refuse(503)]);
		expect(error).toMatchObject({ code: "server_error", status_code: 503, is_retryable: true });
		expect(delays).toEqual([2, 4, 8]);
		expect(server.requests).toHaveLength(4);
	});

	it("retries time-outs", async () => {
		const { outcome, delays } = await summarise([hang, complete(handover)], {}, 2_000);
		expect(outcome?.report.result).toBe("summarised");
		expect(delays).toEqual([2]);
	});

	it.each([400, 401, 404, 422])("HTTP %i fails at once", async (status) => {
		const { error, delays, server } = await summarise([refuse(status)]);
		expect(error).toBeInstanceOf(SummariserError);
		expect([delays, server.requests.length]).toEqual([[], 1]);
	});

	it("retries the calls of an external strategy as well", async () => {
		const strategy = {
			async compact({
				history,
				llm,
			}: {
				history: readonly unknown[];
				llm?: { complete(prompt: string): Promise<string> } | undefined;
			}) {
				return [...history.slice(0, 2), { role: "user", content: await llm?.complete("Short, please.") }];
			},
		};
		const { outcome, delays, progress } = await summarise([refuse(500), complete("So far.")], { strategy });
		expect(outcome?.report.result).toBe("rewritten");
		expect(delays).toEqual([2]);
		expect(progress.filter(({ kind }) => kind === "retry")).toHaveLength(1);
	});
});

describe("Each retry is reported as `{attempt, max_retries, delay}` (docs/compaction.md#retries)", () => {
	it("reports it to the observer of a program", async () => {
		// As MCP progress to a real client: test/e2e/compact-endpoint.test.ts.
		const { progress } = await summarise([refuse(429), refuse(500), complete(handover)]);
		expect(progress.filter(({ kind }) => kind === "retry")).toMatchObject([
			{ attempt: 1, max_retries: 3, delay: 2 },
			{ attempt: 2, max_retries: 3, delay: 4 },
		]);
	});
});

describe("A summary that was cut off is asked for again, more concisely (docs/compaction.md#cut-answers)", () => {
	it("the request follows the partial answer, in French", async () => {
		const cut = complete("## Tâche\nCorriger l'ana", "length");
		const { outcome, server } = await summarise([cut, cut, complete(handover)]);
		expect(outcome?.report.result).toBe("summarised");
		expect(server.requests).toHaveLength(3);
		expect(server.requests[1]?.body.messages.slice(-2)).toEqual([
			{ role: "assistant", content: "## Tâche\nCorriger l'ana" },
			{
				role: "user",
				content: "[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.",
			},
		]);
	});

	it("a summary that is truncated each time is never used", async () => {
		const { error, server } = await summarise([complete("## Task\nMend the", "length")]);
		expect(error).toBeInstanceOf(SummariserError);
		expect(server.requests).toHaveLength(4);
	});
});

describe("Errors have a code, a status and `is_retryable`; no message is matched (docs/compaction.md#typed-errors)", () => {
	const coded =
		(status: number, code: string): Behaviour =>
		(response) => {
			response.writeHead(status, { "content-type": "application/json" });
			response.end(JSON.stringify({ error: { message: "une phrase quelconque", code } }));
		};

	it.each<[string, Behaviour, number, boolean]>([
		["rate_limit", refuse(429), 429, true],
		["context_too_long", coded(400, "context_length_exceeded"), 400, false],
		["model_not_found", refuse(404), 404, false],
		["server_error", refuse(502), 502, true],
		["auth_error", refuse(401), 401, false],
		["auth_error", refuse(403), 403, false],
		["unknown", refuse(418), 418, false],
	])("%s", async (code, behaviour, status_code, is_retryable) => {
		const { error } = await summarise([behaviour]);
		expect(error).toMatchObject({ code, status_code, is_retryable });
	});

	it("timeout", async () => {
		const { error } = await summarise([hang], {}, 50);
		expect(error).toMatchObject({ code: "timeout", status_code: undefined, is_retryable: true });
	});

	it.each(["rate limit", "tokens per minute exceeded", "not found", "context length exceeded", "timeout"])(
		"the words “%s” in a message decide nothing",
		async (message) => {
			const misleading: Behaviour = (response) => {
				response.writeHead(418, { "content-type": "application/json" });
				response.end(JSON.stringify({ error: { message } }));
			};
			expect((await summarise([misleading])).error).toMatchObject({ code: "unknown", is_retryable: false });
		},
	);
});

describe("One HTTP client with keep-alive, closed on shutdown (docs/compaction.md#no-repeated-work)", () => {
	// The list of tools and their schemas: test/contract/robustness-server.test.ts.
	it("one connection serves all compactions and retries, and none is left open after closing", async () => {
		const { server, summariser } = await summarise([complete(handover), refuse(503), complete(handover)]);
		for (let round = 0; round < 2; round += 1)
			await compact(conversation, { summariser, strategy: "llm-summary", force: true });
		expect(server.requests.map(({ connection }) => connection)).toEqual([0, 0, 0, 0]);
		expect(server.open()).toBe(1);
		await summariser.close();
		await expect.poll(() => server.open(), patience).toBe(0);
	});
});
