import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { hasRedis, startRedis } from "../storage/archive/start-redis.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { builtCli } from "../support/built-cli.ts";
import { runCli } from "../support/run-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { type RecalledAnswer, recallSession, refsIn, structured } from "./recall-session.ts";

const messages = agentConversation(10);

/** Sends a server all its requests at once and ends its input; answers with what it wrote until it ended by itself. */
async function serveOnce(archive: string): Promise<{ readonly code: unknown; readonly answers: string }> {
	const folder = await scratchFolder();
	const child = spawn(process.execPath, [builtCli, "--archive", archive], {
		cwd: folder,
		env: cleanEnvironment(folder),
		stdio: ["pipe", "pipe", "inherit"],
	});
	const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
	const requests = [
		{ id: 0, method: "initialize", params },
		{ method: "notifications/initialized" },
		{ id: 1, method: "tools/call", params: { name: "mask_conversation", arguments: { messages } } },
	];
	child.stdin.end(requests.map((one) => `${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`).join(""));
	let answers = "";
	child.stdout.on("data", (chunk: Buffer) => {
		answers += chunk.toString("utf8");
	});
	const [code] = await once(child, "close");
	return { code, answers };
}

it("a server answers all requests after its input ends, keeps the originals in files, and exits", async () => {
	const archive = await scratchFolder();
	const { code, answers } = await serveOnce(archive);
	expect(code).toBe(0);
	const [ref = ""] = refsIn(answers);
	const recalled = await runCli(["recall", ref, "--archive", archive], { folder: await scratchFolder() });
	expect(recalled).toMatchObject({ code: 0, text: messages[3]?.content });
});

describe.runIf(hasRedis)("in Redis", () => {
	it("a server does the same after its input ends", async () => {
		const redis = await startRedis();
		const { code, answers } = await serveOnce(redis.url);
		expect(code).toBe(0);
		const session = await recallSession({ archive: redis.url });
		const refs = refsIn(answers);
		expect(refs).toHaveLength(2);
		const answer = structured<RecalledAnswer>(await session.call("recall_original", { ref: refs[1] }));
		expect(answer.text).toBe(messages[5]?.content);
	});

	it("a server exits although Redis is gone, and reports that nothing was kept", async () => {
		const redis = await startRedis();
		await redis.kill();
		const { code, answers } = await serveOnce(redis.url);
		expect(code).toBe(0);
		expect(answers).toContain("[archive_unavailable]");
		expect(refsIn(answers)).toEqual([]);
	});
});
