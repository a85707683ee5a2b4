import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ArchiveSource } from "../../src/config/create-archive-source.ts";
import { createEventLog } from "../../src/mcp/transports/http/create-event-log.ts";
import { sizeOfJson } from "../../src/mcp/transports/http/size-of-json.ts";
import { jsonHeaders, openSession, send, start } from "./http-harness.ts";

const notice = (text: string) => ({ jsonrpc: "2.0" as const, method: "notifications/message", params: { text } });

describe("the log of what was sent", () => {
	const limits = { bytesOfSession: 20_000, bytesOfAll: 50_000 };

	async function replayed(events: ReturnType<ReturnType<typeof createEventLog>["openSession"]>, id: string) {
		const texts: unknown[] = [];
		const send = async (_id: string, message: object) =>
			void texts.push((message as ReturnType<typeof notice>).params.text);
		await events.replayEventsAfter(id, { send });
		return texts;
	}

	test("sends again what came after an event of the same stream, in order", async () => {
		const events = createEventLog(limits).openSession();
		const [first = ""] = await Promise.all(
			["a1", "b1", "a2", "b2", "a3"].map((text) => events.storeEvent(text.charAt(0), notice(text))),
		);
		expect(await replayed(events, first)).toEqual(["a2", "a3"]);
		expect(await events.getStreamIdForEventId?.(first)).toBe("a");
	});

	test("knows nothing of another session", async () => {
		const log = createEventLog(limits);
		const [mine, theirs] = [log.openSession(), log.openSession()];
		const id = await mine.storeEvent("a", notice("a1"));
		await theirs.storeEvent("a", notice("secret"));
		expect(await theirs.getStreamIdForEventId?.(id)).toBeUndefined();
		await expect(replayed(theirs, id)).rejects.toThrow();
		expect(await replayed(mine, id)).toEqual([]);
	});

	test("stays within its limits, whatever is sent, and is empty when its sessions are over", async () => {
		const log = createEventLog(limits);
		const sessions = Array.from({ length: 5 }, () => log.openSession());
		let [most, stored] = [0, 0];
		for (let turn = 0; turn < 400; turn += 1) {
			const events = sessions[turn % 5];
			const id = await events?.storeEvent("a", notice("x".repeat((turn * 7_919) % 9_000)));
			if ((await events?.getStreamIdForEventId?.(String(id))) !== undefined) stored += 1;
			most = Math.max(most, log.bytes());
			expect(log.bytes()).toBeLessThanOrEqual(limits.bytesOfAll);
		}
		expect(stored).toBe(400);
		expect(most).toBeGreaterThan(limits.bytesOfAll / 2);
		for (const events of sessions) events.clear();
		expect(log.bytes()).toBe(0);
	});

	test("lets the oldest of a session go first, and a message that is too large for all of it at once", async () => {
		const log = createEventLog(limits);
		const events = log.openSession();
		const ids = await Promise.all(Array.from({ length: 10 }, () => events.storeEvent("a", notice("x".repeat(1_500)))));
		const kept = await Promise.all(ids.map((id) => events.getStreamIdForEventId?.(id)));
		expect(kept.indexOf("a")).toBeGreaterThan(0);
		expect(kept.lastIndexOf(undefined)).toBe(kept.indexOf("a") - 1);
		await events.storeEvent("a", notice("x".repeat(100_000)));
		expect(log.bytes()).toBe(0);
	});

	test("reckons at least what a text takes", () => {
		for (const value of ["x".repeat(1_000), { deep: [["y".repeat(500)], { key: "z" }] }, [1, null, true], {}]) {
			expect(sizeOfJson(value, 1e9)).toBeGreaterThanOrEqual(JSON.stringify(value).length);
		}
		let deep: unknown = "x";
		for (let level = 0; level < 200_000; level += 1) deep = [deep];
		expect(sizeOfJson(deep, 1e9)).toBeGreaterThan(200_000);
	});
});

/** An archive that cannot be had until it is let go, so that a call waits. */
function gatedArchive() {
	let letGo = (): void => {};
	let begun = (): void => {};
	const gate = new Promise<void>((resolve) => {
		letGo = resolve;
	});
	const hasBegun = new Promise<void>((resolve) => {
		begun = resolve;
	});
	const archive: ArchiveSource = {
		async use(work) {
			begun();
			await gate;
			return work(undefined as never);
		},
		end() {},
	};
	return { archive, letGo, hasBegun };
}

const call = JSON.stringify({
	jsonrpc: "2.0",
	id: 9,
	method: "tools/call",
	params: { name: "truncate_output", arguments: { text: "short" } },
});

test("an answer that came while the connection was broken is sent again to who resumes, and to nobody else", async () => {
	const { archive, letGo, hasBegun } = gatedArchive();
	const { url } = await start({ archive });
	const session = await openSession(url);
	const headers = { ...jsonHeaders, "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25" };
	const broken = new AbortController();
	const response = await fetch(`${url}/mcp`, { method: "POST", headers, body: call, signal: broken.signal });
	const first = Buffer.from((await response.body?.getReader().read())?.value ?? []).toString();
	const [, event = ""] = /^id: (\S+)$/m.exec(first) ?? [];
	expect(event).not.toBe("");
	await hasBegun;
	broken.abort();
	await new Promise((resolve) => setTimeout(resolve, 50));
	letGo();

	const resume = { ...headers, "Last-Event-ID": event };
	const again = await fetch(`${url}/mcp`, { headers: resume });
	expect(again.status).toBe(200);
	let told = "";
	for await (const piece of again.body ?? []) {
		told += Buffer.from(piece).toString();
		if (told.includes("\n\n")) break;
	}
	const [, data = "{}"] = /^data: (.+)$/m.exec(told) ?? [];
	expect(JSON.parse(data)).toMatchObject({ id: 9, result: { structuredContent: { text: "short" } } });

	const other = { ...resume, "Mcp-Session-Id": await openSession(url) };
	const refused = await send(`${url}/mcp`, { headers: other });
	expect(refused.status).toBe(400);
	expect(refused.text).not.toContain("short");
	expect((await send(`${url}/mcp`, { headers: { ...headers, "Last-Event-ID": "999999" } })).status).toBe(400);
});

test("a client of the SDK whose connection breaks in the middle of a call gets its answer all the same", async () => {
	const { archive, letGo } = gatedArchive();
	const { url } = await start({ archive });
	let [broken, resumed] = [0, 0];
	const breaking = new TransformStream<Uint8Array, Uint8Array>({
		transform(piece, controller) {
			controller.enqueue(piece);
			broken += 1;
			controller.error(new TypeError("The network is gone."));
			letGo();
		},
	});
	const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
		async fetch(target, init) {
			if (new Headers(init?.headers).has("last-event-id")) resumed += 1;
			const response = await fetch(target, init);
			if (!String(init?.body).includes("tools/call")) return response;
			return new Response(response.body?.pipeThrough(breaking), response);
		},
		reconnectionOptions: {
			initialReconnectionDelay: 10,
			maxReconnectionDelay: 10,
			reconnectionDelayGrowFactor: 1,
			maxRetries: 3,
		},
	});
	const client = new Client({ name: "test", version: "1" });
	await client.connect(transport as never);
	onTestFinished(() => client.close());
	const answer = await client.callTool({ name: "truncate_output", arguments: { text: "short" } });
	expect(answer.structuredContent).toMatchObject({ text: "short" });
	expect([broken, resumed]).toEqual([1, 1]);
});
