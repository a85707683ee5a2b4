import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { unseenAnswer } from "../../../src/engine/masking/asked.ts";
import { opencodePlugin as plugin } from "../../../src/hosts/plugins/opencode.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { outputOf, turnsOf } from "../../proxy/sessions.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { isMasked, type LanguageMessage, modelMessages, outputsIn, storedSession } from "./opencode-session.ts";
import { settled } from "./settled.ts";

vi.mock("../../../src/hosts/plugins/session-editor.ts", async (load) => (await import("./settled.ts")).observed(load));

let folder: string;
let logged: string[];
beforeEach(async () => {
	folder = await scratchFolder();
	logged = [];
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) delete process.env[name];
	process.env.PALIMPSEST_ARCHIVE = join(folder, "archive");
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => {
		vi.unstubAllEnvs();
		delete process.env.PALIMPSEST_ARCHIVE;
	};
});

const log = async ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
	void logged.push(String(body.message));

const load = (client = {}) =>
	plugin.server({ directory: folder, client: { app: { log }, ...client } }, { command: ["palimpsest"] });

/** The session as it is sent after some turns. */
async function sentAfter(count: number, hooks: Awaited<ReturnType<typeof load>>) {
	const messages = storedSession(turnsOf(count, 6_000));
	await hooks["experimental.chat.messages.transform"]({}, { messages });
	await settled();
	return messages;
}

/** The session as it is sent after each of its turns up to some, the last one of them. */
async function playedTo(count: number, hooks: Awaited<ReturnType<typeof load>>) {
	for (let shown = 1; shown < count; shown += 1) await sentAfter(shown, hooks);
	return sentAfter(count, hooks);
}

describe("an agent in opencode that asks for masking", () => {
	const asking = {
		id: "toolu_01AskedOfTests0001",
		command: "",
		output: unseenAnswer,
		call: { name: "palimpsest_mask_conversation", input: {} },
	};
	const turns = [...turnsOf(8, 6_000), asking, ...turnsOf(9, 6_000).slice(8)];

	it("gets the figures, and the results masked from the next request on", async () => {
		const hooks = await load();
		const sent = async (count: number) => {
			const messages = storedSession(turns.slice(0, count));
			await hooks["experimental.chat.messages.transform"]({}, { messages });
			await settled();
			return outputsIn(messages);
		};
		for (let count = 1; count <= 8; count += 1) await sent(count);
		const asked = await sent(9);
		expect(asked.filter(isMasked)).toEqual([]);
		expect(asked.at(-1)).toMatch(/^7 results masked from the next request on, \d+ \d{3} tokens/);
		const next = await sent(10);
		expect(next.filter(isMasked)).toHaveLength(7);
		expect(next).toContain(asked.at(-1));
		expect(process.env.PALIMPSEST_PROXY).toBe("plugin");
	});
});

describe("a session in opencode 1.x", () => {
	it("is sent with old results masked, and opencode's stored session stays unchanged", async () => {
		const hooks = await load();
		await playedTo(29, hooks);
		const stored = storedSession(turnsOf(30, 6_000));
		const before = structuredClone(stored);
		const messages = [...stored];
		await hooks["experimental.chat.messages.transform"]({}, { messages });
		expect(stored).toEqual(before);
		const outputs = outputsIn(messages);
		const masked = outputs.filter(isMasked);
		expect(masked.length).toBeGreaterThan(7);
		expect(outputs.slice(-2)).toEqual(outputsIn(stored).slice(-2));
		expect(messages.filter((message, index) => message !== stored[index])).toHaveLength(masked.length);
		expect(masked[0]).toMatch(/ #(\w+)\] Intact, no error: read it with `palimpsest recall \1`\.$/);
		expect(logged).toEqual([]);
	});

	it("is sent with the output of commands cut, from its first request on", async () => {
		const hooks = await load();
		const turns = turnsOf(2, 6_000).map((turn) => ({ ...turn, command: "npm test" }));
		const sent = async (count: number) => {
			const messages = storedSession(turns.slice(0, count));
			await hooks["experimental.chat.messages.transform"]({}, { messages });
			await settled();
			return outputsIn(messages);
		};
		const [first] = await sent(1);
		expect(first?.length).toBeLessThan(4_200);
		expect(first).toContain("palimpsest recall");
		const [same, next] = await sent(2);
		expect(same).toBe(first);
		expect(next?.length).toBeLessThan(4_200);
	});

	it("keeps its originals in the archive", async () => {
		const messages = await playedTo(30, await load());
		const archive = await openArchive({ where: join(folder, "archive") });
		const originals = outputsIn(storedSession(turnsOf(30, 6_000)));
		expect(outputsIn(messages).filter(isMasked).length).toBeGreaterThan(7);
		for (const [index, text] of outputsIn(messages).entries()) {
			if (!isMasked(text)) continue;
			const ref = /(?:#|ref=)(\w+)/.exec(text)?.[1] ?? "";
			expect((await archive?.get(ref))?.text).toBe(originals[index]);
		}
	});

	it("is only appended to but for one edit in ten requests, and masked once for all", async () => {
		const hooks = await load();
		let breaks = 0;
		let before: string[] = [];
		for (let count = 1; count <= 30; count += 1) {
			const outputs = outputsIn(await sentAfter(count, hooks));
			if (before.some((text, index) => text !== outputs[index])) breaks += 1;
			for (const [index, text] of before.entries()) if (isMasked(text)) expect(outputs[index]).toBe(text);
			before = outputs;
		}
		expect(breaks).toBeGreaterThan(0);
		expect(breaks).toBeLessThanOrEqual(3);
	});

	it("is sent in the same bytes by another process, also where the policy would decide otherwise", async () => {
		const sent = outputsIn(await playedTo(30, await load())).map((text) => (isMasked(text) ? text : ""));
		await writeFile(join(folder, "palimpsest.toml"), 'preset = "observation-masking"\n[mask]\nwindow_turns = 16\n');
		const again = outputsIn(await sentAfter(30, await load())).map((text) => (isMasked(text) ? text : ""));
		expect(sent.filter((text) => text !== "").length).toBeGreaterThan(7);
		expect(again).toEqual(sent);
	});

	it("is sent unedited when the policy is broken, and the log says so once", async () => {
		await writeFile(join(folder, "palimpsest.toml"), "[mask]\nwindow_turns = true\n");
		const hooks = await load();
		const messages = await sentAfter(24, hooks);
		await sentAfter(24, hooks);
		expect(messages).toEqual(storedSession(turnsOf(24, 6_000)));
		expect(logged).toEqual([expect.stringContaining("palimpsest left something unedited: ")]);
	});

	it("has its new decisions taken back once the provider has refused them twice, and none for the next 20 requests", async () => {
		const hooks = await load();
		const refused = (statusCode: number) => ({
			type: "session.error",
			properties: { sessionID: "ses_4f2a", error: { name: "APIError", data: { statusCode } } },
		});
		let count = 1;
		const masks = async () => outputsIn(await sentAfter(count, hooks)).filter(isMasked);
		const untilMasked = async () => {
			let masked = await masks();
			for (; masked.length === 0 && count < 200; masked = await masks()) count += 1;
			return masked.length;
		};
		await masks();
		await hooks.event({ event: refused(500) });
		await untilMasked();
		await hooks.event({ event: refused(400) });
		expect(await masks()).toEqual([]);
		const masked = await untilMasked();
		await hooks.event({ event: refused(400) });
		for (let more = 0; more < 20; more += 1, count += 1) expect(await masks()).toEqual([]);
		const after = await playedTo(count + 12, hooks);
		expect(outputsIn(after).filter(isMasked).length).toBeGreaterThan(masked);
	});

	it("is compacted with the words of the user, and no text that opencode made", async () => {
		const data = storedSession(turnsOf(2));
		data.push({
			info: { role: "user" },
			parts: [
				{ type: "text", text: "Never touch the\nmigrations." },
				{ type: "text", text: "Called the Read tool", synthetic: true },
			],
		});
		const answered = { status: "completed", output: 'User has answered: "Which?"="The small one."' };
		data.push({ info: { role: "assistant" }, parts: [{ type: "tool", tool: "question", state: answered }] });
		const session = { messages: async () => ({ data }) };
		const output = { context: ["theirs"] };
		await (await load({ session }))["experimental.session.compacting"]({ sessionID: "ses_4f2a" }, output);
		expect(output.context).toEqual([
			"theirs",
			'What the user wrote, word for word, oldest first:\n---\nFind out where each value is read.\n---\nNever touch the\nmigrations.\n---\nUser has answered: "Which?"="The small one."\n---',
		]);
	});
});

describe("a session in opencode 2.x", () => {
	type Handle = (event: unknown) => Promise<void>;

	async function hooksOf() {
		const hooks = new Map<string, Handle>();
		const hook = (name: string, handle: Handle) => hooks.set(name, handle);
		await plugin.setup({ location: { directory: folder }, session: { hook }, tool: { hook } } as never);
		return (name: string, event: unknown) => hooks.get(name)?.(event);
	}

	const model = { providerID: "anthropic", id: "claude-sonnet-4-5" };
	const valuesIn = (messages: readonly LanguageMessage[]) =>
		messages.flatMap(({ content }) =>
			content.flatMap(({ result }) => (result === undefined ? [] : [String((result as { value: unknown }).value)])),
		);

	it("is sent with old results masked, and its messages stay unchanged", async () => {
		const call = await hooksOf();
		for (let count = 1; count < 30; count += 1) {
			const messages = modelMessages(turnsOf(count, 6_000));
			await call("context", { kind: "primary", model, system: [], messages, tools: {} });
			await settled();
		}
		const stored = modelMessages(turnsOf(30, 6_000));
		const before = structuredClone(stored.map(({ role, content }) => ({ role, content })));
		const messages = [...stored];
		await call("context", { kind: "primary", model, system: [], messages, tools: {} });
		expect(stored.map(({ role, content }) => ({ role, content }))).toEqual(before);
		const values = valuesIn(messages);
		expect(values.filter(isMasked).length).toBeGreaterThan(7);
		for (const [index, message] of messages.entries()) {
			expect(message.constructor).toBe(stored[index]?.constructor);
			const restored = message.content.map((part, at) => {
				const original = stored[index]?.content[at]?.result;
				return part.type === "tool-result" ? { ...part, result: original } : part;
			});
			expect(restored).toEqual(stored[index]?.content);
		}
	});

	it("is sent without the reasoning that no longer fits on a model that binds it, as it cannot be sent again", async () => {
		const mask = '[mask]\nwindow_turns = 2\nselection = "age"\ncadence = "stride"\nstride_turns = 8\n';
		await writeFile(join(folder, "palimpsest.toml"), `preset = "balanced"\n${mask}`);
		const call = await hooksOf();
		const binding = { providerID: "anthropic", id: "claude-opus-5-5" };
		let messages: LanguageMessage[] = [];
		for (let count = 1; count <= 14; count += 1) {
			messages = modelMessages(turnsOf(count, 6_000));
			await call("context", { kind: "primary", model: binding, system: [], messages, tools: {} });
			await settled();
		}
		const answers = messages.filter(({ role }) => role === "assistant");
		const thoughts = answers.map(({ content }) => content.some(({ type }) => type === "reasoning"));
		const masked = valuesIn(messages).map(isMasked);
		expect(masked).toContain(true);
		// What comes before the first masked result stays, and so does what was produced later.
		expect(thoughts[masked.indexOf(true)]).toBe(true);
		expect(thoughts[masked.lastIndexOf(true) + 1]).toBe(false);
		expect(thoughts.at(-1)).toBe(true);
	});

	it("is compacted with the words of the user", async () => {
		const system: unknown[] = [];
		const result = { type: "text", value: "The small one." };
		const answer = { role: "tool", content: [{ type: "tool-result", id: "q", name: "question", result }] };
		const messages = [...modelMessages(turnsOf(2), "Never touch the migrations."), answer];
		await (await hooksOf())("compaction", { kind: "compaction", model, system, messages, tools: {} });
		expect(JSON.stringify(system)).toContain("Never touch the migrations.\\n---\\nThe small one.");
	});

	it.each([
		["a text", (text: string) => text],
		[
			"blocks",
			(text: string) => [
				{ type: "text", text },
				{ type: "file", uri: "data:,", mime: "image/png" },
			],
		],
	])("has a large output cut on arrival: %s", async (_, contentOf) => {
		const result = { content: contentOf(outputOf(1, 60_000)), metadata: { exit: 0 } };
		const event = { tool: "bash", id: "call_1", input: { command: "ls" }, status: "completed", result };
		await (await hooksOf())("execute.after", event);
		const { content, metadata } = event.result;
		const text = typeof content === "string" ? content : String(content[0]?.text);
		expect(text.length).toBeLessThanOrEqual(16_000);
		expect(text).toMatch(/^\[Output shortened: .* recall \w+\]\n/);
		expect(metadata).toEqual({ exit: 0 });
		if (typeof content !== "string") expect(content[1]).toEqual({ type: "file", uri: "data:,", mime: "image/png" });
		expect(result.content).toEqual(contentOf(outputOf(1, 60_000)));
	});
});
