import type { Progress } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { answer, type Behaviour, complete, refuse } from "../operations/summariser/chat-server.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { conversationNamed, type LastingEndpoint, lastingEndpoint } from "./compact-endpoint.ts";
import { compactSession, contentOf, firstText, type StdioCompactSession } from "./compact-session.ts";

const key = "sk-a-key-that-nobody-may-see-4711";
const soon = { "retry-after": "0.05" };

/** An error that holds the key wherever an endpoint can write. */
const echo = (status: number): Behaviour =>
	answer(status, { error: { message: key, type: key, code: key, param: key } }, { "x-request-id": key });
const summarised = complete(handover);

let endpoint: LastingEndpoint;
let session: StdioCompactSession;
const told: unknown[] = [];

beforeAll(async () => {
	endpoint = await lastingEndpoint();
	const environment = {
		PALIMPSEST_LLM_URL: endpoint.baseUrl,
		PALIMPSEST_LLM_MODEL: "a-model",
		PALIMPSEST_LLM_KEY: key,
		OPENAI_LOG: "debug",
	};
	session = await compactSession({ environment, parameters: ["--set", "log_level=debug"] });
});

// Over all that the tests below made the server say.
afterAll(() => {
	expect(session.received.length).toBeGreaterThan(8);
	for (const said of [...session.received, session.stderr(), JSON.stringify([told, session.logged])]) {
		expect(said).not.toContain(key);
	}
	expect(session.stderr()).not.toMatch(/^\s+at /m);
});

let calls = 0;
/** Compacts a conversation about which the endpoint behaves as told. */
async function compact(...behaviours: readonly Behaviour[]) {
	calls += 1;
	const name = `number-${calls}`;
	endpoint.behave(name, ...behaviours);
	const messages = conversationNamed(name);
	const progress: Progress[] = [];
	const parameters = { messages, strategy: "llm-summary" };
	const onprogress = (one: Progress) => {
		told.push(one);
		// Of an answer that takes over 5 s, as on a machine that is busy elsewhere, it is told in between that it is waited for.
		if (one.message !== "waiting") progress.push(one);
	};
	const result = await session.call("compact_conversation", parameters, { onprogress });
	// The SDK hands on what it was told, of whatever the protocol allows beside.
	const retries = progress.map((one) => (one as { _meta?: Record<string, unknown> })._meta?.["palimpsest/retry"]);
	return { result, messages, progress, retries: retries.filter(Boolean), requests: endpoint.requestsOf(name) };
}

describe("an endpoint named by the environment", () => {
	it("is asked with the key, and its framed answer replaces the old messages", async () => {
		const { result, messages, requests } = await compact(summarised);
		const { messages: after, report } = contentOf(result);
		expect([after[0], after[2], after[3]]).toEqual([messages[0], ...messages.slice(-2)]);
		const { own, frames } = splitFrames(after[1]?.content ?? "");
		expect([own, frames[0]?.summary]).toEqual([messages[1]?.content, handover]);
		expect(report.summary).toMatchObject({
			by: "openai-compatible (a-model)",
			usage: { prompt_tokens: 100, completion_tokens: 10 },
		});
		expect(requests).toHaveLength(1);
		expect(requests[0]).toMatchObject({ url: "/v1/chat/completions", body: { model: "a-model", max_tokens: 2_000 } });
		expect(requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
	});

	it("whose answer echoes the key does not leak it into the conversation", async () => {
		const { result } = await compact(complete(`${handover}\nThe key is ${key}.`));
		expect(contentOf(result).messages[1]?.content).toContain("The key is [key].");
	});
});

describe("an endpoint that fails temporarily", () => {
	it("three times gets four requests, and the client gets progress in growing numbers", async () => {
		const { result, requests, progress, retries } = await compact(
			refuse(429, soon),
			refuse(503, { "retry-after": "0.1" }),
			refuse(500, soon),
			summarised,
		);
		expect(contentOf(result).report).toMatchObject({ result: "summarised" });
		expect(requests).toHaveLength(4);
		expect(retries).toEqual([
			{ attempt: 1, max_retries: 3, delay: 0.05 },
			{ attempt: 2, max_retries: 3, delay: 0.1 },
			{ attempt: 3, max_retries: 3, delay: 0.05 },
		]);
		expect(progress.map(({ message }) => message)).toEqual([
			"asking",
			"retry 1 of 3 in 0.05 s (rate_limit 429)",
			"asking",
			"retry 2 of 3 in 0.1 s (server_error 503)",
			"asking",
			"retry 3 of 3 in 0.05 s (server_error 500)",
			"asking",
		]);
		const numbers = progress.map((one) => one.progress);
		expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
	});
});

describe("an endpoint that returns no summary leaves the conversation unchanged", () => {
	it.each([
		["a wrong key", [echo(401)], 1, /^\[auth_error\] .*\(HTTP 401\)\. \(status_code=401, is_retryable=false\)$/],
		["no JSON", [answer(200, `{"${key}`)], 1, /^\[unknown\] .*not JSON\. \(status_code=200, is_retryable=false\)$/],
	] as const)("%s", async (_what, behaviours, tries, words) => {
		const { result, requests } = await compact(...behaviours);
		expect(result.isError).toBe(true);
		expect(result.structuredContent).toBeUndefined();
		expect(firstText(result)).toMatch(words);
		expect(requests).toHaveLength(tries);
	});
});
