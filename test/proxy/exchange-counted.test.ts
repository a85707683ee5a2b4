import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFigures } from "../../src/storage/figures/store.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { early, linesIn, sendSettled, startPlayed } from "./played.ts";
import { maskedIn, requestOf, type SessionApi, turnsOf } from "./sessions.ts";
import type { Sent } from "./upstream.ts";

type Json = Record<string, unknown>;

const turns = turnsOf(6);
const bodyOf = (api: SessionApi) => JSON.parse(String(requestOf(api, turns).body)) as Json;
const post = (path: string, body: unknown): Sent => {
	const headers = { "Content-Type": "application/json" };
	return { method: "POST", path, headers, body: JSON.stringify(body) };
};
const onGemini = (operation: string) => `/v1beta/models/gemini-2.5-pro:${operation}`;
const onBedrock = "/model/us.anthropic.claude-opus-5-5-v1%3A0";

function bedrockBody(): Json {
	const { model: _, context_management, ...rest } = bodyOf("anthropic");
	return { anthropic_version: "bedrock-2023-05-31", ...rest };
}

const encoded = (body: unknown) => Buffer.from(JSON.stringify(body)).toString("base64");

/** Each endpoint that takes a history beside the one that answers it: its request, and where its conversation is. */
const endpoints: readonly (readonly [string, SessionApi, Sent, (body: Json) => unknown])[] = [
	["/v1/messages/count_tokens", "anthropic", post("/v1/messages/count_tokens", bodyOf("anthropic")), (body) => body],
	[
		"/v1/messages/batches",
		"anthropic",
		post("/v1/messages/batches", {
			requests: [
				{ custom_id: "other", params: { model: "claude-sonnet-4-5", messages: [{ role: "user", content: "Hello" }] } },
				{ custom_id: "no_conversation", params: {} },
				{ custom_id: "same", params: bodyOf("anthropic") },
			],
		}),
		({ requests }) => (requests as Json[])[2]?.params,
	],
	[
		"/v1/messages for a summary",
		"anthropic",
		post("/v1/messages", { compaction: { type: "summarize" }, ...bodyOf("anthropic") }),
		(body) => body,
	],
	["/v1/responses/compact", "responses", post("/v1/responses/compact", bodyOf("responses")), (body) => body],
	["/v1/responses/input_tokens", "responses", post("/v1/responses/input_tokens", bodyOf("responses")), (body) => body],
	[":countTokens", "gemini", post(onGemini("countTokens"), bodyOf("gemini")), (body) => body],
	[
		":countTokens with a whole request",
		"gemini",
		post(onGemini("countTokens"), { generateContentRequest: { model: "models/gemini-2.5-pro", ...bodyOf("gemini") } }),
		({ generateContentRequest }) => generateContentRequest,
	],
	[
		"v1internal:countTokens",
		"gemini",
		post("/v1internal:countTokens", { request: { model: "models/gemini-2.5-pro", ...bodyOf("gemini") } }),
		({ request }) => request,
	],
	[
		":batchGenerateContent",
		"gemini",
		post(onGemini("batchGenerateContent"), {
			batch: { display_name: "b", input_config: { requests: { requests: [{ request: bodyOf("gemini") }] } } },
		}),
		({ batch }) =>
			(batch as { input_config: { requests: { requests: Json[] } } }).input_config.requests.requests[0]?.request,
	],
];

describe("a request that takes the history without asking for an answer", () => {
	it.each(endpoints)("gets the known states and nothing new: %s", async (_, api, request, conversationIn) => {
		const { upstream, start } = await startPlayed({ policy: early });
		const proxy = await start();
		for (let count = 1; count <= turns.length; count += 1)
			await sendSettled(proxy, requestOf(api, turns.slice(0, count)));
		const last = JSON.parse(String(upstream.received.at(-1)?.body)) as Json;
		await sendSettled(proxy, request);
		const received = upstream.received.at(-1);
		expect(received?.path).toBe(request.path);
		const sent = JSON.parse(String(received?.body)) as Json;
		const key = (["messages", "contents", "input"] as const).find((name) => Object.hasOwn(last, name)) as string;
		expect(maskedIn(JSON.stringify(last)).length).toBeGreaterThan(0);
		expect((conversationIn(sent) as Json)[key]).toEqual(last[key]);
		// Nothing else changes.
		(conversationIn(sent) as Json)[key] = bodyOf(api)[key];
		expect(sent).toEqual(JSON.parse(String(request.body)));
	});

	it("is billed where it compacts, edited or not, and not where it counts", async () => {
		const folder = join(await scratchFolder(), "figures");
		const usage = { input_tokens: 9_000, input_tokens_details: { cached_tokens: 2_000 }, output_tokens: 300 };
		const figures = openFigures({ keep: "all", folder });
		const { start } = await startPlayed({ policy: early, figures }, ({ path }, response) => {
			const isCompaction = path.endsWith("compact");
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(isCompaction ? JSON.stringify({ object: "response.compaction", output: [], usage }) : "{}");
		});
		const proxy = await start();
		const compact = post("/v1/responses/compact", bodyOf("responses"));
		await sendSettled(proxy, compact);
		for (let count = 1; count <= turns.length; count += 1)
			await sendSettled(proxy, requestOf("responses", turns.slice(0, count)));
		await sendSettled(proxy, compact);
		await sendSettled(proxy, post("/v1/responses/input_tokens", bodyOf("responses")));
		const lines = await linesIn(folder, "request");
		expect(lines).toHaveLength(turns.length + 2);
		const bill = { model: "gpt-5", input: 7_000, read: 2_000, output: 300, billed: 7_200, unedited: 7_200 };
		expect([lines[0], lines.at(-1)]).toMatchObject([bill, bill]);
	});

	it("gets them in the encoded body that Bedrock counts", async () => {
		const { upstream, start } = await startPlayed({ policy: early });
		const proxy = await start({ upstreams: { bedrock: upstream.url } });
		for (let count = 1; count <= turns.length; count += 1) {
			const { messages } = JSON.parse(String(requestOf("anthropic", turns.slice(0, count)).body)) as Json;
			await sendSettled(proxy, post(`${onBedrock}/invoke`, { ...bedrockBody(), messages }));
		}
		const last = JSON.parse(String(upstream.received.at(-1)?.body)) as Json;
		await sendSettled(
			proxy,
			post(`${onBedrock}/count-tokens`, { input: { invokeModel: { body: encoded(bedrockBody()) } } }),
		);
		const { input } = JSON.parse(String(upstream.received.at(-1)?.body)) as {
			input: { invokeModel: { body: string } };
		};
		const counted = JSON.parse(Buffer.from(input.invokeModel.body, "base64").toString()) as Json;
		expect(maskedIn(JSON.stringify(last)).length).toBeGreaterThan(0);
		expect(counted).toEqual(last);
	});

	it("decides nothing: a conversation that is not known goes out to the byte", async () => {
		const { upstream, start } = await startPlayed({ policy: early });
		const proxy = await start();
		for (const [, , request] of endpoints) {
			await sendSettled(proxy, request);
			expect(upstream.received.at(-1)?.body.toString()).toBe(request.body);
		}
	});

	it("is sent again as it came where a batch with edits is refused", async () => {
		const { upstream, start } = await startPlayed({ policy: early }, ({ path, body }, response) => {
			const isRefused = path.endsWith("batches") && maskedIn(body).length > 0;
			response.writeHead(isRefused ? 400 : 200).end("{}");
		});
		const proxy = await start();
		for (let count = 1; count <= turns.length; count += 1) {
			await sendSettled(proxy, requestOf("anthropic", turns.slice(0, count)));
		}
		const batch = post("/v1/messages/batches", { requests: [{ custom_id: "a", params: bodyOf("anthropic") }] });
		expect((await sendSettled(proxy, batch))?.status).toBe(200);
		expect(upstream.received.at(-1)?.body.toString()).toBe(batch.body);
	});
});
