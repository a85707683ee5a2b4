import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { builtCli } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

it("a server with closed standard error keeps running", async () => {
	const folder = await scratchFolder();
	const child = spawn(process.execPath, [builtCli, "serve", "--archive", "memory", "--log", "json"], {
		cwd: folder,
		env: cleanEnvironment(folder),
	});
	onTestFinished(() => void child.kill());
	child.stderr.destroy();
	const lines = createInterface({ input: child.stdout });
	const ids: unknown[] = [];
	lines.on("line", (line) => ids.push((JSON.parse(line) as { id?: unknown }).id));
	const ask = (id: number, method: string, params: object) =>
		child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
	child.stdin.on("error", () => undefined);

	const clientInfo = { name: "test", version: "1" };
	ask(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
	const parameters = { messages: agentConversation(3), respond_with: "report" };
	for (const id of [2, 3, 4]) {
		ask(id, "tools/call", { name: "mask_conversation", arguments: parameters });
		await Promise.race([expect.poll(() => ids, { timeout: 20_000 }).toContain(id), once(child, "exit")]);
	}
	expect(ids).toEqual(expect.arrayContaining([1, 2, 3, 4]));
	child.stdin.end();
	expect(await once(child, "exit")).toEqual([0, null]);
});
