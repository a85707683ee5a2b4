import { readdir, readlink } from "node:fs/promises";
import { expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { poolServer } from "./pool-server.ts";

/** A conversation that no call has archived yet. */
function freshConversation(round: number) {
	return agentConversation(300).map(({ content, ...message }) =>
		typeof content === "string" ? { ...message, content: `${round}: ${content}` } : { ...message, content },
	);
}

/** Files of the folder that this process has open, on Linux. */
async function openFilesUnder(folder: string): Promise<string[]> {
	const descriptors = await readdir("/proc/self/fd");
	const files = await Promise.all(descriptors.map((one) => readlink(`/proc/self/fd/${one}`).catch(() => "")));
	return files.filter((file) => file.startsWith(folder));
}

it.runIf(process.platform === "linux")(
	"calls that are cancelled while they archive leave no file open",
	async () => {
		const folder = await scratchFolder();
		const { connect, pool } = await poolServer({ threads: 2 }, { where: folder });
		const { client } = await connect();
		const archived = async () => (await readdir(folder, { recursive: true })).length;
		for (let round = 0; round < 5; round += 1) {
			const stop = new AbortController();
			const parameters = { messages: freshConversation(round), respond_with: "report" };
			const before = await archived();
			const call = client.callTool({ name: "mask_conversation", arguments: parameters }, undefined, {
				signal: stop.signal,
			});
			const ended = call.catch(() => undefined);
			await expect.poll(archived, { interval: 5, ...patience }).toBeGreaterThan(before + 50 * round);
			stop.abort();
			await ended;
			await expect.poll(() => pool.stats().running, { interval: 1, ...patience }).toBe(0);
		}
		expect(await openFilesUnder(folder)).toEqual([]);
	},
	120_000,
);
