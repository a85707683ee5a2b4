import { join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/strands.ts";
import { isMasked, outputOf, textsIn } from "../../proxy/sessions.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

class Message {
	readonly data: object;
	constructor(data: object) {
		this.data = data;
	}
	static fromJSON = (data: object) => new Message(data);
	toJSON = () => this.data;
}

class FunctionTool {
	readonly config: { readonly name: string; readonly callback: (input: unknown) => Promise<string> };
	constructor(config: FunctionTool["config"]) {
		this.config = config;
	}
}

type Around = (
	context: { model: object; messages: Message[]; toolSpecs: object[] },
	next: (context: { messages: Message[] }) => AsyncGenerator<string, unknown>,
) => AsyncGenerator<string, unknown>;

const messagesOf = (turns: number) =>
	[
		{ role: "user", content: [{ text: "Find out where each value is read." }] },
		...Array.from({ length: turns }, (_, turn) => [
			{
				role: "assistant",
				content: [{ toolUse: { toolUseId: `call_${turn}`, name: "read_file", input: { at: turn } } }],
			},
			{
				role: "user",
				content: [
					{ toolResult: { toolUseId: `call_${turn}`, status: "success", content: [{ text: outputOf(turn, 9_000) }] } },
				],
			},
		]).flat(),
	].map(Message.fromJSON);

function playing() {
	const stages: [unknown, Around][] = [];
	const sdk = { InvokeModelStage: "stage", Message, FunctionTool };
	const plugin = palimpsest<Message, FunctionTool>(sdk as never, { archive: "memory", folder });
	plugin.initAgent({ addMiddleware: (stage: unknown, around: Around) => stages.push([stage, around]) });
	const [[stage, around] = ["", undefined]] = stages;
	expect(stage).toBe("stage");
	const toolSpecs = plugin.getTools().map(({ config }) => ({ name: config.name }));
	/** What the model is sent, and the events that the agent gets. */
	const ask = async (messages: Message[], refuses: (sent: Message[]) => boolean = () => false) => {
		const sent: Message[][] = [];
		const events: string[] = [];
		const answering = (around as Around)(
			{ model: { modelId: "gpt-5.2" }, messages, toolSpecs },
			async function* (context) {
				sent.push(context.messages);
				if (refuses(context.messages)) throw Object.assign(new Error("Refused."), { statusCode: 400 });
				yield "event";
				return { result: { metadata: { usage: { inputTokens: 20_000, outputTokens: 80, totalTokens: 20_080 } } } };
			},
		);
		for await (const event of answering) events.push(event);
		await plugin.settled();
		return { sent, events };
	};
	const playTo = async (turns: number) => {
		for (const count of [10, 20, turns - 1]) await ask(messagesOf(count));
	};
	return { plugin, ask, playTo };
}

const maskedIn = (messages: readonly Message[] | undefined) =>
	textsIn(messages?.map(({ data }) => data)).filter(isMasked);

it("old results are masked in what is sent, other messages are the same objects, and the tools read the originals", async () => {
	const { ask, playTo, plugin } = playing();
	await playTo(30);
	const messages = messagesOf(30);
	const { sent, events } = await ask(messages);
	const [placeholder = ""] = maskedIn(sent[0]);
	const ref = / #(\w+)\]/.exec(placeholder)?.[1];
	expect(sent[0]?.at(-1)).toBe(messages.at(-1));
	expect(events).toEqual(["event"]);
	const recall = plugin.getTools().find(({ config }) => config.name === "recall_original");
	expect(await recall?.config.callback({ ref, max_tokens: 60 })).toContain("src/part-0/file-1.ts:7");
});

it("a request that is refused is sent again whole, and what else is thrown is the program's", async () => {
	const { ask, playTo } = playing();
	await playTo(30);
	const messages = messagesOf(30);
	const { sent, events } = await ask(messages, (some) => maskedIn(some).length > 0);
	expect(sent.at(-1)).toBe(messages);
	expect(events).toEqual(["event"]);
	await expect(ask(messagesOf(31), () => true)).rejects.toThrow("Refused.");
});
