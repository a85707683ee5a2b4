import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { patience } from "../../support/patience.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { alice, bob, startWithTokens, twoTokens } from "./auth-harness.ts";
import {
	bearer,
	chat,
	connect,
	type Face,
	faces,
	initialize,
	jsonHeaders,
	newerRequest,
	openSession,
	ping,
	send,
	start,
} from "./harness.ts";

const doors = [
	{ path: "/mcp", method: "POST", headers: jsonHeaders, body: initialize },
	{ path: "/mcp?2026-07-28", ...newerRequest("tools/list") },
	{ path: "/mcp", method: "GET", headers: { Accept: "text/event-stream" } },
	{ path: "/mcp", method: "DELETE", headers: {} },
	{ path: "/MCP/", method: "POST", headers: jsonHeaders, body: initialize },
	{ path: "/sse", method: "GET", headers: {} },
	{ path: "/messages?sessionId=x", method: "POST", headers: jsonHeaders, body: ping },
	{ path: "/nowhere", method: "GET", headers: {} },
];

const strangers: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
	["no token", {}],
	["a wrong token", bearer("c3".repeat(16))],
	["a token cut short", bearer(alice.slice(0, -1))],
	["an empty token", { Authorization: "Bearer " }],
	["a token of another scheme", { Authorization: `Basic ${Buffer.from(`alice:${alice}`).toString("base64")}` }],
	["two tokens", { Authorization: `Bearer ${bob} ${alice}` }],
	["a token elsewhere", { "X-Api-Key": alice, Cookie: `token=${alice}` }],
];

describe.each(doors)("$method $path", ({ path, method, headers, ...rest }) => {
	test.each(strangers)("refuses %s", async (_name, extra) => {
		const { url, policySource } = await startWithTokens();
		const answer = await send(url + path, { method, headers: { ...headers, ...extra }, ...rest });
		expect(answer.status).toBe(401);
		expect(answer.headers["www-authenticate"]).toMatch(/^Bearer error="invalid_token", error_description="[^"]+"$/);
		expect(answer.text).not.toMatch(/a1a1|b2b2|c3c3|node_modules|\.ts/);
		expect(policySource.listeners()).toBe(0);
	});

	test("accepts a known token", async () => {
		const { url } = await startWithTokens();
		const extra = { ...headers, ...bearer(alice) };
		expect((await send(url + path, { method, headers: extra, ...rest, headOnly: true })).status).not.toBe(401);
	});
});

test("a token in the address is ignored", async () => {
	const { url } = await startWithTokens();
	for (const query of [`access_token=${alice}`, `token=${alice}`]) {
		for (const request of [{ method: "POST", headers: jsonHeaders, body: initialize }, newerRequest("tools/list")]) {
			expect((await send(`${url}/mcp?${query}`, request)).status).toBe(401);
		}
	}
});

test("health is open to everyone, and a foreign Host or Origin is refused with a token too", async () => {
	const { url } = await startWithTokens();
	expect((await send(`${url}/healthz`)).status).toBe(200);
	for (const foreign of [{ Host: "evil.example" }, { Origin: "http://evil.example" }, { Origin: "null" }]) {
		expect((await send(`${url}/mcp`, { headers: { ...bearer(alice), ...foreign } })).status).toBe(403);
	}
});

test("does not read a body before the token is checked", async () => {
	const { port } = await startWithTokens();
	const socket = connectSocket(port, "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	const head = await new Promise<string>((resolve) => {
		socket.once("data", (piece) => resolve(String(piece)));
		const lines = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 900"];
		socket.write(`${lines.join("\r\n")}\r\n\r\n`);
	});
	expect(head).toMatch(/^HTTP\/1\.1 401 /);
});

test("does not serve beyond this machine without authentication, not even through a proxy", async () => {
	const publicUrl = new URL("https://palimpsest.example.org");
	await expect(start({ publicUrl })).rejects.toThrow(/needs authentication/);
	await expect(start({ address: { host: "0.0.0.0", port: 0 } })).rejects.toThrow(/needs authentication/);
});

test("accepts the public host and its pages", async () => {
	const { url } = await startWithTokens({ publicUrl: new URL("https://palimpsest.example.org") });
	const health = (headers: Record<string, string>) => send(`${url}/healthz`, { headers }).then(({ status }) => status);
	expect(await health({ Host: "palimpsest.example.org" })).toBe(200);
	expect(await health({ Host: "palimpsest.example.org", Origin: "https://palimpsest.example.org" })).toBe(200);
	expect(await health({ Host: "palimpsest.example.org", Origin: "http://palimpsest.example.org" })).toBe(403);
	expect(await health({ Host: "example.org" })).toBe(403);
});

test("a server on every address accepts addresses as its own, but no names", async () => {
	const { port } = await startWithTokens({ address: { host: "0.0.0.0", port: 0 } });
	const health = (host: string) =>
		send(`http://127.0.0.1:${port}/healthz`, { headers: { Host: host } }).then(({ status }) => status);
	for (const own of ["192.168.7.7:8765", "10.0.0.1", "[fe80::1]:8765", "localhost"])
		expect(await health(own)).toBe(200);
	for (const name of ["evil.example", "10.0.0.1.nip.io", "1.2.3", "[x]"]) expect(await health(name)).toBe(403);
});

describe.each(faces)("%s", (face: Face) => {
	test("one principal cannot read another's original, nor learn that it exists", async () => {
		const { url } = await startWithTokens();
		const [mine, alsoMine, theirs] = await Promise.all([alice, alice, bob].map((who) => connect(url, face, who)));
		const masked = await mine?.client.callTool({
			name: "mask_conversation",
			arguments: { messages: chat(12), policy: { mask: { window_turns: 2 } } },
		});
		const [, ref = ""] = /\br[ée]f=([a-z0-9]+)/.exec(JSON.stringify(masked?.structuredContent)) ?? [];
		const recall = { name: "recall_original", arguments: { ref } };
		expect(await alsoMine?.client.callTool(recall)).toMatchObject({
			content: [{ type: "text", text: expect.stringMatching(/^\[Original result of [^\n]*\]\n./) }],
		});
		const refused = JSON.stringify(await theirs?.client.callTool(recall));
		expect(refused).toContain("[original_not_found]");
		const never = { name: "recall_original", arguments: { ref: `${ref.slice(0, -1)}${ref.endsWith("0") ? 1 : 0}` } };
		expect(JSON.stringify(await theirs?.client.callTool(never))).toContain("[original_not_found]");
		const byCall = { name: "recall_original", arguments: { tool_call_id: "call_0" } };
		expect(JSON.stringify(await theirs?.client.callTool(byCall))).toContain("[original_not_found]");
		await expect(theirs?.client.readResource({ uri: `original://${ref}` })).rejects.toThrow(
			/original_not_found|No original/,
		);
	});
});

test("another's session is reported as unknown", async () => {
	const { url } = await startWithTokens();
	const session = await openSession(url, bearer(alice));
	const asked = (who: string, id: string, method = "POST") =>
		send(`${url}/mcp`, {
			method,
			headers: { ...jsonHeaders, ...bearer(who), "Mcp-Session-Id": id },
			...(method === "POST" && { body: ping }),
		});
	const unknown = await asked(bob, "1d1cbb0c-55f6-4d5c-9fd8-0f8b2f3a2a10");
	for (const method of ["POST", "GET", "DELETE"]) {
		const { status, text } = await asked(bob, session, method);
		expect({ status, text }).toEqual({ status: 404, text: unknown.text });
	}
	expect((await asked(alice, session)).status).toBe(200);

	const stream = await fetch(`${url}/sse`, { headers: bearer(alice) });
	const [, id] =
		/sessionId=(\S+)/.exec(Buffer.from((await stream.body?.getReader().read())?.value ?? []).toString()) ?? [];
	const post = (who: string) =>
		send(`${url}/messages?sessionId=${id}`, {
			method: "POST",
			headers: { ...jsonHeaders, ...bearer(who) },
			body: ping,
		});
	expect(await post(bob)).toMatchObject({ status: 404, text: unknown.text });
	expect((await post(alice)).status).toBe(202);
});

/** Opens a stream of news of the policy, as revision 2026-07-28 has them. */
async function openNews(url: string, token: string): Promise<Response> {
	const notifications = { resourceSubscriptions: ["policy://current"] };
	const { method, headers, body } = newerRequest("subscriptions/listen", { notifications });
	const response = await fetch(`${url}/mcp`, { method, headers: { ...headers, ...bearer(token) }, body });
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	return response;
}

test("another's state of a call is refused, and so is one that was changed", async () => {
	const { url } = await startWithTokens();
	const capabilities = { "io.modelcontextprotocol/clientCapabilities": { sampling: {} } };
	const call = async (who: string, more: object) => {
		const params = {
			name: "compact_conversation",
			arguments: { messages: chat(12), strategy: "llm-summary", force: true },
		};
		const { method, headers, body } = newerRequest("tools/call", { ...params, ...more });
		const asked = JSON.parse(body);
		Object.assign(asked.params._meta, capabilities);
		const request = { method, headers: { ...headers, ...bearer(who) }, body: JSON.stringify(asked) };
		return JSON.parse((await send(`${url}/mcp`, request)).text);
	};
	const { result } = await call(alice, {});
	expect(result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
	const content = { type: "text", text: "All that was done." };
	const [name = ""] = Object.keys(result.inputRequests);
	const inputResponses = { [name]: { role: "assistant", model: "m", content, stopReason: "endTurn" } };
	const { requestState } = result;
	expect(await call(bob, { inputResponses, requestState })).toMatchObject({ error: { code: -32_602 } });
	const changed = `${requestState.slice(0, 9)}${requestState[9] === "A" ? "B" : "A"}${requestState.slice(10)}`;
	expect(await call(alice, { inputResponses, requestState: changed })).toMatchObject({ error: { code: -32_602 } });
	expect(await call(alice, { inputResponses, requestState })).toMatchObject({ result: { resultType: "complete" } });
});

test("a token that is revoked opens nothing more, and its open sessions are closed", async () => {
	const file = join(await scratchFolder(), "tokens");
	await writeFile(file, twoTokens, { mode: 0o600 });
	const { url, policySource } = await startWithTokens({}, { tokensFile: file });
	const { client } = await connect(url, "HTTP+SSE", bob);
	const session = await openSession(url, bearer(alice));
	expect(policySource.listeners()).toBe(2);
	const news = await openNews(url, bob);
	const newsOfAlice = await openNews(url, alice);
	// The last one is the server's own, for all streams of news.
	expect(policySource.listeners()).toBe(3);
	// Bob's token is another's now. In one go, since an empty file lets nobody in.
	writeFileSync(file, `alice:${alice}\ncarol:${bob}\n`);
	await vi.waitFor(() => expect(policySource.listeners()).toBe(2), patience);
	await expect(news.text()).rejects.toThrow();
	writeFileSync(file, `alice:${alice}\n`);
	await expect(client.ping()).rejects.toThrow();
	await newsOfAlice.body?.cancel();
	const headers = { ...jsonHeaders, ...bearer(alice), "Mcp-Session-Id": session };
	expect((await send(`${url}/mcp`, { method: "POST", headers, body: ping })).status).toBe(200);
	const refused = { method: "POST", headers: { ...jsonHeaders, ...bearer(bob) }, body: initialize };
	await vi.waitFor(async () => expect((await send(`${url}/mcp`, refused)).status).toBe(401), patience);
	const newer = newerRequest("tools/list");
	const asBob = { ...newer, headers: { ...newer.headers, ...bearer(bob) } };
	expect((await send(`${url}/mcp`, asBob)).status).toBe(401);
});
