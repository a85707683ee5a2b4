import { describe, expect, it } from "vitest";
import { policyOf } from "../support/policy-of.ts";
import { early, sendSettled, startPlayed, statusOf } from "./played.ts";
import { maskedIn, requestOf, type Turn, turnsOf } from "./sessions.ts";
import { bindingRefusal } from "./thinking-host.ts";
import { type Received, send } from "./upstream.ts";

type Json = Record<string, unknown>;

const model = "us.anthropic.claude-opus-5-5-20261020-v1:0";

/** A request to Bedrock after some turns. */
function asked(turns: readonly Turn[], headers: Readonly<Record<string, string>> = {}) {
	const { model: _, context_management, ...rest } = JSON.parse(String(requestOf("anthropic", turns).body)) as Json;
	const body = JSON.stringify({ anthropic_version: "bedrock-2023-05-31", ...rest });
	const path = `/model/${encodeURIComponent(model)}/invoke-with-response-stream`;
	return { method: "POST", path, headers: { "Content-Type": "application/json", ...headers }, body };
}

const betasOf = ({ body, headers }: Received) =>
	JSON.stringify([headers["anthropic-beta"], JSON.parse(body.toString()).anthropic_beta]);

describe("a conversation on Bedrock", () => {
	it.each(["palimpsest", "provider"] as const)("is masked without a beta feature, with mask.by = %s", async (by) => {
		const { upstream, start } = await startPlayed({
			policy: policyOf({ preset: "balanced", mask: { ...early.mask, by } }),
		});
		const proxy = await start({ upstreams: { bedrock: upstream.url } });
		for (let count = 1; count <= 6; count += 1) await sendSettled(proxy, asked(turnsOf(count)));
		const last = upstream.received.at(-1) as Received;
		expect(maskedIn(last.body).length).toBeGreaterThan(0);
		expect(last.path).toBe(asked([]).path);
		expect(JSON.parse(last.body.toString())).toMatchObject({ anthropic_version: "bedrock-2023-05-31" });
		expect(new Set(upstream.received.map(betasOf))).toEqual(new Set(["[null,null]"]));
		expect(last.body.toString()).not.toContain("context_management");
		const { conversations } = await statusOf(proxy);
		expect(conversations[0]).toMatchObject({ api: "anthropic", model, state: "edited" });
	});

	it("gets no field of a beta feature after any refusal", async () => {
		const { upstream, start } = await startPlayed({ policy: early }, ({ body }, response) => {
			if (maskedIn(body).length === 0) return response.end("{}");
			return response.writeHead(400).end(JSON.stringify({ message: bindingRefusal(1).message }));
		});
		const proxy = await start({ upstreams: { bedrock: upstream.url } });
		for (let count = 1; count <= 6; count += 1) await sendSettled(proxy, asked(turnsOf(count)));
		expect(upstream.received.some(({ body }) => maskedIn(body).length > 0)).toBe(true);
		expect(upstream.received.map(({ body }) => body.toString()).join()).not.toContain("block_binding");
		expect(new Set(upstream.received.map(betasOf))).toEqual(new Set(["[null,null]"]));
	});

	it("passes to the byte if it is signed, and is counted with the reason", async () => {
		const { upstream, start } = await startPlayed({ policy: early });
		const proxy = await start({ upstreams: { bedrock: upstream.url } });
		const signature =
			"AWS4-HMAC-SHA256 Credential=A/20261128/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0";
		for (let count = 1; count <= 6; count += 1) {
			const request = asked(turnsOf(count), { authorization: signature });
			await sendSettled(proxy, request);
			expect(upstream.received.at(-1)?.body.toString()).toBe(request.body);
		}
		expect((await statusOf(proxy)).undecided).toEqual({ signed: 6 });
		await send(proxy.url, { path: "/inference-profiles", headers: { authorization: signature } });
		expect((await statusOf(proxy)).undecided).toEqual({ signed: 6 });
	});
});

describe("a conversation with the Converse API of Bedrock", () => {
	const blocksOf = (turns: readonly Turn[]) => [
		{ role: "user", content: [{ text: "Find out where each value is read." }, { cachePoint: { type: "default" } }] },
		...turns.flatMap(({ id, command, output }) => [
			{ role: "assistant", content: [{ toolUse: { toolUseId: id, name: "bash", input: { command } } }] },
			{ role: "user", content: [{ toolResult: { toolUseId: id, content: [{ text: output }] } }] },
		]),
	];
	const asked = (turns: readonly Turn[], operation: string) => ({
		method: "POST",
		path: `/model/${encodeURIComponent(model)}/${operation}`,
		headers: { "Content-Type": "application/json", authorization: "Bearer key" },
		body: JSON.stringify({
			toolConfig: { tools: [{ toolSpec: { name: "bash", inputSchema: { json: { type: "object" } } } }] },
			messages: blocksOf(turns),
		}),
	});
	const usage = { inputTokens: 9, outputTokens: 1, totalTokens: 10, cacheReadInputTokens: 3_000 };

	it.each(["converse", "converse-stream"])("is masked, and names the command that recalls: %s", async (operation) => {
		const { upstream, start } = await startPlayed({ policy: early }, (_, response) => {
			response.setHeader("Content-Type", "application/json");
			response.end(JSON.stringify({ stopReason: "end_turn", usage }));
		});
		const proxy = await start({ upstreams: { bedrock: upstream.url } });
		for (let count = 1; count <= 6; count += 1) await sendSettled(proxy, asked(turnsOf(count, 3_000), operation));
		const { body, path } = upstream.received.at(-1) as Received;
		expect(path).toBe(asked([], operation).path);
		expect(String(body)).toMatch(/`palimpsest recall \w+`/);
		expect(String(body).length).toBeLessThan(String(asked(turnsOf(6, 3_000), operation).body).length * 0.6);
		const { conversations, undecided } = await statusOf(proxy);
		expect(conversations[0]).toMatchObject({ model, state: "edited", cache_read_tokens: 18_000 });
		expect(undecided).toEqual({});
	});

	it("passes to the byte if it is signed, with the reason", async () => {
		const { upstream, start } = await startPlayed({ policy: early });
		const proxy = await start({ upstreams: { bedrock: upstream.url } });
		const request = asked(turnsOf(6, 3_000), "converse");
		await sendSettled(proxy, { ...request, headers: { authorization: "AWS4-HMAC-SHA256 Credential=A/x" } });
		expect(upstream.received[0]?.body.toString()).toBe(request.body);
		expect((await statusOf(proxy)).undecided).toEqual({ signed: 1 });
	});
});
