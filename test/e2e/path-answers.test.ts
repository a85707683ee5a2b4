import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { mask } from "../../src/index.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { rawServer } from "../support/raw-server.ts";
import { firstText, pathSession } from "./path-session.ts";

const policy = { mask: { window_turns: 3 } };
const large = [...agentConversation(10), { role: "user", content: "long ".repeat(1_700_000) }];

async function isGone(path: string): Promise<boolean> {
	const end = performance.now() + patience.timeout;
	while (existsSync(path) && performance.now() < end) await new Promise((next) => setTimeout(next, 20));
	return !existsSync(path);
}

it.each(["by path", "inline"])(
	"an answer too large to send becomes a link to a file with the complete answer: %s",
	async (way) => {
		const session = await pathSession({ inProcess: true });
		await writeFile(join(session.working, "chat.json"), JSON.stringify(large));
		const given = way === "inline" ? { messages: large } : { path: "chat.json", respond_with: "messages" };
		const result = await session.call("mask_conversation", { policy, ...given });
		const [told, link] = result.content;
		if (link?.type !== "resource_link") throw new Error("Expected a link.");
		const { messages_uri: uri, report } = result.structuredContent as { messages_uri: string; report: object };
		expect(uri).toBe(link.uri);
		expect(report).toMatchObject({ masked_tool_results: 7 });
		expect(JSON.parse(told?.type === "text" ? told.text : "")).toEqual(result.structuredContent);

		const file = fileURLToPath(link.uri);
		const expected = await mask(large, { policy });
		expect(await readFile(file, "utf8")).toBe(JSON.stringify(expected.conversation));
		const about = await stat(file);
		expect([about.size, about.mode & 0o777]).toEqual([link.size, 0o600]);
		expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
		await session.client.close();
		expect(await isGone(dirname(file))).toBe(true);
	},
);

it("the answer contains no part of a conversation of 8 MB that is written to a file", async () => {
	const session = await pathSession();
	await writeFile(join(session.working, "chat.json"), JSON.stringify(large));
	const expected = await mask(large, { policy });
	for (const [given, name] of [
		[{ output_path: "out.json" }, "out.json"],
		[{}, "chat.masked.json"],
	] as const) {
		const result = await session.call("mask_conversation", { policy, path: "chat.json", ...given });
		expect(result.content).toHaveLength(1);
		expect(firstText(result).length).toBeLessThan(5_000);
		expect(await readFile(join(session.working, name), "utf8")).toBe(JSON.stringify(expected.conversation));
	}
});

it("an answer nested too deep to send becomes a link to a file with the complete answer", async () => {
	const server = await rawServer();
	const deep = `[{"role":"user","content":[{"type":"other","value":${"[".repeat(10_000)}${"]".repeat(10_000)}}]}]`;
	const call = `{"name":"mask_conversation","arguments":{"messages":${deep}}}`;
	server.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${call}}`);
	const { result } = await server.answer(1);
	expect(result?.isError).toBeUndefined();
	const file = fileURLToPath(String(result?.structuredContent?.messages_uri));
	expect(await readFile(file, "utf8")).toBe(deep);
	server.child.stdin.end();
	expect(await server.ended).toEqual({ code: 0, signal: null });
	expect(existsSync(file)).toBe(false);
});
