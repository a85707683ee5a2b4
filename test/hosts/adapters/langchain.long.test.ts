import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/langchain.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { agentTurns, strictProvider } from "./agent-script.ts";
import { hasFrameworks } from "./example-packages.ts";
import { type Message, runAgent } from "./langchain-agent.ts";

it.skipIf(!hasFrameworks())(
	"a result of LangChain that is cut keeps its class, id, status and artifact, and the checkpoint stays whole",
	async () => {
		const folder = await scratchFolder();
		vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
		const turns = agentTurns(11);
		const [alone, ours] = [strictProvider(), strictProvider()];
		const faults: string[] = [];
		const context = palimpsest({ archive: "memory", folder, onFault: (line) => faults.push(line) });
		const kept = await runAgent({ turns, provider: alone });
		let sent: readonly Message[] = [];
		const onSent = (messages: readonly Message[]) => {
			sent = messages;
		};
		const { settled } = context;
		const keptWithUs = await runAgent({ turns, provider: ours, middleware: [context], settled, onSent });
		vi.unstubAllEnvs();
		expect([faults, ours.refusals, ours.breaks()]).toEqual([[], [], []]);
		const contents = (messages: readonly Message[]) =>
			messages.filter(({ type }) => type === "tool").map(({ content, status }) => [content, status]);
		expect(contents(keptWithUs)).toEqual(contents(kept));
		const edited = sent.filter((message) => message.type === "tool" && !keptWithUs.includes(message));
		expect(edited).toHaveLength(1);
		for (const message of edited) {
			const whole = keptWithUs.find(({ id }) => id === message.id);
			expect(message.constructor).toBe(whole?.constructor);
			expect({ ...message, content: whole?.content, lc_kwargs: {} }).toEqual({ ...whole, lc_kwargs: {} });
			expect(JSON.parse(JSON.stringify(message)).kwargs.content).toBe(message.content);
		}
	},
);
