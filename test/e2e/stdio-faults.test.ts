import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { applyRecords } from "../support/promise-checker.ts";
import { type RawServer, rawServer } from "../support/raw-server.ts";

let server: RawServer;
const start = async () => {
	server = await rawServer();
	return server;
};

/** Ends standard input; the process must then end by itself, and leave no trace. */
async function endsByItself(): Promise<void> {
	server.child.stdin.end();
	expect(await server.ended).toEqual({ code: 0, signal: null });
}

const cut = (text: string) => ["truncate_output", { text, max_chars: 100 }] as const;

// Whatever happened: nothing but JSON-RPC on standard output, no stack on standard error, no process left behind.
afterEach(async ({ task }) => {
	if (task.result?.state === "fail") server.child.kill("SIGKILL");
	await server.ended;
	for (const line of server.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
	expect(server.stderr()).not.toMatch(/^\s+at /m);
	expect(server.stderr()).not.toContain(secret);
	expect(() => process.kill(server.child.pid as number, 0)).toThrow("ESRCH");
});

describe("a client that disconnects", () => {
	it("gets its answer if it closed only its sending end, and the process exits", async () => {
		await start();
		server.call(1, ...cut(`${secret} lorem ipsum `.repeat(100_000)));
		server.child.stdin.end();
		expect((await server.answer(1)).result?.structuredContent).toMatchObject({ truncated: true });
		expect(await server.ended).toEqual({ code: 0, signal: null });
	});

	it("during a call leaves no process and no crash", async () => {
		await start();
		server.call(1, "mask_conversation", { messages: agentConversation(300) });
		server.child.stdout.destroy();
		expect(await server.ended).toEqual({ code: 0, signal: null });
		expect(server.stderr()).toBe("");
	});

	it("with both ends during a call leaves no process and no crash", async () => {
		await start();
		server.call(1, "mask_conversation", { messages: agentConversation(300) });
		server.child.stdin.end();
		server.child.stdout.destroy();
		expect(await server.ended).toEqual({ code: 0, signal: null });
		expect(server.stderr()).toBe("");
	});

	it("without a request ends the process", async () => {
		await start();
		await endsByItself();
		expect(server.stderr()).toBe("");
	});
});

describe("signals", () => {
	it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("%s ends the process cleanly", async (signal) => {
		await start();
		server.child.kill(signal);
		expect(await server.ended).toEqual({ code: 0, signal: null });
		expect(server.stderr()).toBe("");
	});

	it("SIGTERM ends the process cleanly during work", async () => {
		await start();
		server.call(1, "mask_conversation", { messages: agentConversation(2_000) });
		if (server.child.stdin.writableNeedDrain) await once(server.child.stdin, "drain");
		server.child.kill("SIGTERM");
		expect(await server.ended).toEqual({ code: 0, signal: null });
		expect(server.stderr()).toBe("");
	});
});

describe("invalid lines", () => {
	it("are reported on standard error, and the next line is answered", async () => {
		await start();
		for (const line of [`{"text": ${secret}`, "", "[]", `{"method": 5, "text": "${secret}"}`]) server.write(line);
		server.call(1, ...cut("short"));
		expect((await server.answer(1)).result?.structuredContent).toMatchObject({ text: "short" });
		await endsByItself();
		const told = server.stderr().trim().split("\n");
		expect(told).toHaveLength(4);
		expect(told[0]).toBe("palimpsest error: A line on standard input is not JSON and was skipped");
		expect(told[3]).toBe("palimpsest error: A line on standard input is not a JSON-RPC message and was skipped");
	});

	it("over 64 MiB get an error, and the next line is answered", async () => {
		await start();
		server.call(1, ...cut(secret.repeat(5_000_000)));
		server.call(2, ...cut("short"));
		const { error } = await server.answer(1);
		expect(error?.code).toBe(-32_600);
		expect(error?.message).toMatch(/^\[payload_too_large\] A message of 7\d{7} bytes .* over the limit of 67108864/);
		expect((await server.answer(2)).result?.structuredContent).toMatchObject({ text: "short" });
		await endsByItself();
		expect(server.stderr()).toMatch(/^palimpsest error: A message of \d+ bytes on standard input is over .*\n$/);
	});
});

describe("large and unusual input", () => {
	it("cuts a text of 12 MB to a few kB", async () => {
		await start();
		const text = "lorem ipsum dolor sit amet\n".repeat(450_000);
		server.call(1, "truncate_output", { text });
		const { result } = await server.answer(1);
		expect(result?.structuredContent).toMatchObject({ truncated: true, chars: { before: text.length, after: 4_038 } });
		expect(server.lines.at(-1)?.length).toBeLessThan(20_000);
		await endsByItself();
	});

	it("writes an answer too large for clients into a file of this run and links to it", async () => {
		await start();
		const messages = [...agentConversation(12), { role: "user", content: "lorem ipsum dolor sit\n".repeat(380_000) }];
		server.call(1, "mask_conversation", { messages });
		server.call(2, "mask_conversation", { messages, respond_with: "edits" });
		const { content, structuredContent } = (await server.answer(1)).result ?? { content: [] };
		expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
		const uri = structuredContent?.messages_uri as string;
		expect(content[1]).toMatchObject({ type: "resource_link", uri, mimeType: "application/json" });
		const edits = (await server.answer(2)).result?.structuredContent?.edits as [];
		expect(edits).toHaveLength(4);
		const file = fileURLToPath(uri);
		expect(JSON.parse(await readFile(file, "utf8"))).toEqual(applyRecords(messages, edits));
		await endsByItself();
		expect(existsSync(file)).toBe(false);
	});

	it("writes an unchanged text that is too large into a file too", async () => {
		await start();
		const text = `${secret} `.repeat(550_000);
		server.call(1, "truncate_output", { text, max_chars: text.length });
		const { structuredContent } = (await server.answer(1)).result ?? {};
		expect(structuredContent).toMatchObject({ truncated: false, omitted_chars: 0, chars: { before: text.length } });
		const file = fileURLToPath(structuredContent?.text_uri as string);
		expect(JSON.parse(await readFile(file, "utf8"))).toBe(text);
		await endsByItself();
	});
});
