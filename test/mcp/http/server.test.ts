import { writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createPolicySource } from "../../../src/operations/config/config.ts";
import { version } from "../../../src/version.ts";
import { patience } from "../../support/patience.ts";
import { type Connected, chat, connect, type Face, faces, send, start } from "./harness.ts";

const toolNames = ["mask_conversation", "guard_context", "truncate_output", "compact_conversation"];

const calls = [
	{ name: "mask_conversation", arguments: { messages: chat(12), policy: { mask: { window_turns: 2 } } } },
	{ name: "guard_context", arguments: { messages: chat(12), context_window: 9_000, reserve_tokens: 8_200 } },
	{ name: "truncate_output", arguments: { text: "abc ".repeat(1_000), max_chars: 1_000 } },
];

/** Counts the notices that a client gets of `policy://current`. */
async function subscribe({ client }: Connected): Promise<() => number> {
	let heard = 0;
	client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
		expect(params.uri).toBe("policy://current");
		heard += 1;
	});
	await client.subscribeResource({ uri: "policy://current" });
	return () => heard;
}

describe.each(faces)("%s", (face: Face) => {
	test("introduces the server and lists its tools", async () => {
		const { url } = await start();
		const { client } = await connect(url, face);
		expect(client.getServerVersion()).toMatchObject({ name: "palimpsest", version });
		expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(toolNames);
	});

	test("answers calls of every tool", async () => {
		const { url } = await start();
		const { client } = await connect(url, face);
		const [masked, guarded, cut] = await Promise.all(calls.map((call) => client.callTool(call)));
		expect(masked?.structuredContent).toMatchObject({ report: { changed: true } });
		expect(guarded?.structuredContent).toMatchObject({ report: { changed: true } });
		expect(cut?.structuredContent).toMatchObject({ truncated: true });
	});

	test("answers bad input as a tool error", async () => {
		const { url } = await start();
		const { client } = await connect(url, face);
		const answer = await client.callTool({ name: "truncate_output", arguments: { text: 1 } });
		expect(answer).toMatchObject({ isError: true });
		expect(JSON.stringify(answer.content)).toContain("[invalid_argument]");
	});

	test("accepts a conversation larger than the SDK's own limit of 4 MiB", async () => {
		const { url } = await start();
		const { client } = await connect(url, face);
		const text = "wide café ".repeat(600_000);
		const answer = await client.callTool({ name: "truncate_output", arguments: { text } });
		expect(answer.structuredContent).toMatchObject({ truncated: true });
	});

	test("serves the policy and notifies when its file changes", async () => {
		const folder = await mkdtemp(path.join(tmpdir(), "palimpsest-http-"));
		onTestFinished(() => rm(folder, { recursive: true }));
		const policyFile = path.join(folder, "policy.toml");
		await writeFile(policyFile, "[mask]\nwindow_turns = 3\n");
		const policySource = await createPolicySource({
			policyFile,
			environment: {},
			workingDirectory: folder,
			home: folder,
			intervalMilliseconds: 20,
		});
		onTestFinished(policySource.close);
		const { url } = await start({ policySource });
		const connected = await connect(url, face);
		const windowTurns = async () => {
			const { contents } = await connected.client.readResource({ uri: "policy://current" });
			return JSON.parse((contents[0] as { text: string }).text).policy.mask.window_turns;
		};
		expect(await windowTurns()).toBe(3);

		const heard = await subscribe(connected);
		// In one go, so that it is not found empty in between.
		writeFileSync(policyFile, "[mask]\nwindow_turns = 41\n");
		await vi.waitFor(() => expect(heard()).toBe(1), patience);
		expect(await windowTurns()).toBe(41);
	});

	test("keeps the subscriptions of two sessions separate", async () => {
		const { url, policySource } = await start();
		const first = await connect(url, face);
		const second = await connect(url, face);
		const heardByFirst = await subscribe(first);
		const heardBySecond = await subscribe(second);
		await second.client.unsubscribeResource({ uri: "policy://current" });

		policySource.change();
		policySource.change();
		await vi.waitFor(() => expect(heardByFirst()).toBe(2), patience);
		await second.client.ping();
		expect(heardBySecond()).toBe(0);
	});
});

test("all transports give the same answers", async () => {
	const { url } = await start();
	const [one, ...others] = await Promise.all(faces.map((face) => connect(url, face)));
	const { tools } = (await one?.client.listTools()) ?? {};
	const answers = await Promise.all(calls.map((call) => one?.client.callTool(call)));
	for (const { client } of others) {
		expect((await client.listTools()).tools).toEqual(tools);
		for (const [index, call] of calls.entries()) {
			const { content, structuredContent } = await client.callTool(call);
			expect({ content, structuredContent }).toEqual(answers[index]);
		}
	}
});

test("serves on ::1", async (context) => {
	const { url } = await start({ address: { host: "::1", port: 0 } }).catch((error: Error) => {
		if (/EADDRNOTAVAIL|EAFNOSUPPORT/.test(error.message)) context.skip("no IPv6 here");
		throw error;
	});
	expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
	const { client } = await connect(url, "Streamable HTTP");
	expect((await client.listTools()).tools).toHaveLength(toolNames.length);
});

test("reports health and version", async () => {
	const { url } = await start();
	const answer = await send(`${url}/healthz`);
	expect(answer.status).toBe(200);
	expect(JSON.parse(answer.text)).toEqual({ status: "ok", version });
	expect((await send(`${url}/healthz`, { method: "HEAD" })).status).toBe(200);
});

test("refuses unknown paths", async () => {
	const { url } = await start();
	for (const unknown of ["/", "/nowhere", "/mcp/more", "/messages/x"]) {
		const answer = await send(url + unknown);
		expect(answer.status).toBe(404);
		expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null });
	}
});

test.each([
	["/mcp", "PUT", "GET, POST, DELETE"],
	["/mcp", "HEAD", "GET, POST, DELETE"],
	["/mcp", "OPTIONS", "GET, POST, DELETE"],
	["/sse", "POST", "GET"],
	["/sse", "HEAD", "GET"],
	["/messages", "GET", "POST"],
	["/healthz", "POST", "GET, HEAD"],
])("%s refuses %s and names its methods", async (route, method, allow) => {
	const { url, policySource } = await start();
	const answer = await send(url + route, { method });
	expect(answer).toMatchObject({ status: 405, headers: { allow } });
	expect(policySource.listeners()).toBe(0);
});

test("does not reveal its framework, and forbids caching and sniffing", async () => {
	const { url } = await start();
	for (const route of ["/healthz", "/mcp", "/messages", "/nowhere", "/%ff"]) {
		const { headers } = await send(url + route);
		expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "cache-control": "no-store" });
		expect(headers).not.toHaveProperty("x-powered-by");
		expect(headers).not.toHaveProperty("etag");
	}
});
