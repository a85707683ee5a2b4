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
