import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { piExtension } from "../../../src/hosts/plugins/pi.ts";
import { recallOriginal } from "../../../src/mcp/tools.ts";
import { outputOf, requestOf, turnsOf } from "../../proxy/sessions.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { isMasked } from "./opencode-session.ts";
import { settled } from "./settled.ts";

vi.mock("../../../src/hosts/plugins/session-editor.ts", async (load) => (await import("./settled.ts")).observed(load));

vi.mock("@earendil-works/pi-coding-agent", () => ({
	compact: async ({ firstKeptEntryId }: { firstKeptEntryId: string }, _model: unknown, apiKey: string) => {
		if (apiKey !== "key") throw new Error("no key");
		return { summary: "## Goal\nFind the values.", firstKeptEntryId, tokensBefore: 9 };
	},
}));

type Handle = (event: Record<string, unknown>, context: unknown) => Promise<Record<string, unknown> | undefined>;

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) delete process.env[name];
	process.env.PALIMPSEST_ARCHIVE = join(folder, "archive");
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => {
		vi.unstubAllEnvs();
		delete process.env.PALIMPSEST_ARCHIVE;
	};
});

/** The extension as pi 0.74 loads it. */
function load(active = ["read", "bash", "recall_original"]) {
	const handles = new Map<string, Handle>();
	const tools: {
		name: string;
		parameters: { properties: object };
		execute: (...given: unknown[]) => Promise<{ content: { text: string }[] }>;
	}[] = [];
	piExtension(
		{
			on: (event, handle) => void handles.set(event, handle as Handle),
			registerTool: (tool) => void tools.push(tool as never),
			getActiveTools: () => active,
		},
		{ command: ["palimpsest"] },
	);
	const contextFor = (api: string) => ({
		cwd: folder,
		model: { api, id: "a-model" },
		modelRegistry: { getApiKeyAndHeaders: async () => ({ ok: true, apiKey: "key" }) },
	});
	const call = (event: string, given: Record<string, unknown>, api = "anthropic-messages") =>
		(handles.get(event) as Handle)(given, contextFor(api));
	const recall = async (input: Record<string, unknown>) => {
		const { content } = await (tools[0] as (typeof tools)[number]).execute(
			"call",
			input,
			undefined,
			undefined,
			contextFor(""),
		);
		return content[0]?.text ?? "";
	};
	/** The requests after each turn from the first to the last one, and what is sent for the last. */
	const play = async (name: Parameters<typeof payloadOf>[0], api: string, [first, last]: readonly [number, number]) => {
		let sent: unknown;
		for (let count = first; count <= last; count += 1) {
			sent = await call("before_provider_request", { payload: payloadOf(name, count) }, api);
			await settled();
		}
		return sent;
	};
	return { call, recall, tools, play };
}

function textsIn(value: unknown): string[] {
	if (typeof value === "string") return [value];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const maskedIn = (payload: unknown) => textsIn(payload).filter(isMasked);

/** pi hands the parameters of Google's library over, which has the tools and the system prompt in `config`. */
function payloadOf(
	api: "anthropic" | "chat" | "responses" | "gemini",
	count: number,
	turns: ReturnType<typeof turnsOf> = turnsOf(count, 6_000),
) {
	const body = JSON.parse(String(requestOf(api, turns).body));
	if (api !== "gemini") return body;
	const { contents, ...config } = body;
	return { model: "gemini-2.5-pro", contents, config: { ...config, abortSignal: new AbortController().signal } };
}

describe.each([
	["anthropic", "anthropic-messages"],
	["chat", "openai-completions"],
	["responses", "openai-responses"],
	["gemini", "google-generative-ai"],
] as const)("a request of pi by %s", (name, api) => {
	it("is sent with old results masked for good, and pi's own session stays unchanged", async () => {
		const { call, recall, play } = load();
		await play(name, api, [1, 43]);
		const payload = payloadOf(name, 44);
		const before = textsIn(payload);
		const sent = await call("before_provider_request", { payload }, api);
		expect(textsIn(payload)).toEqual(before);
		const masked = maskedIn(sent);
		expect(masked.length).toBeGreaterThan(7);
		expect(masked[0]).toMatch(/Intact, no error: read it with recall_original\.$/);
		const ref = / #(\w+)\]/.exec(masked[0] as string)?.[1];
		expect(before.some((text) => text.startsWith(outputOf(0, 1_000)))).toBe(true);
		expect(await recall({ ref, max_tokens: 100 })).toContain("src/part-0/file-1.ts:7: value 1 is read here\n");
		const later = maskedIn(await play(name, api, [45, 46]));
		expect(later.slice(0, masked.length)).toEqual(masked);
	});

	it("is sent unedited while little would be saved", async () => {
		expect(await load().call("before_provider_request", { payload: payloadOf(name, 2) }, api)).toBeUndefined();
	});
});

it("an agent that asks for masking gets the figures, and the results masked from the next request on", async () => {
	const { call, tools } = load();
	const tool = tools.find(({ name }) => name === "mask_conversation");
	const { content } = (await tool?.execute("call", {})) ?? { content: [] };
	const asking = { id: "toolu_01AskedOfTests0001", command: "", output: content[0]?.text ?? "" };
	const turns = [...turnsOf(8, 6_000), { ...asking, call: { name: "mask_conversation", input: {} } }, ...turnsOf(1)];
	let asked: unknown;
	for (let count = 1; count <= 9; count += 1) {
		const payload = payloadOf("anthropic", count, turns.slice(0, count));
		asked = await call("before_provider_request", { payload });
		await settled();
	}
	expect(maskedIn(asked)).toEqual([]);
	expect(textsIn(asked).join("\n")).toMatch(/^7 results masked from the next request on, .* with recall_original\.$/m);
	const payload = payloadOf("anthropic", 10, turns);
	expect(maskedIn(await call("before_provider_request", { payload }))).toHaveLength(7);
});

it("recall_original asks for a reference or a query", async () => {
	await expect(load().recall({})).rejects.toThrow("Expected `ref` or `query`.");
});

it("a request by another API is sent unedited", async () => {
	const payload = payloadOf("anthropic", 24);
	expect(await load().call("before_provider_request", { payload }, "bedrock-converse-stream")).toBeUndefined();
});

it("placeholders name no tool that is switched off", async () => {
	const masked = maskedIn(await load(["bash"]).play("anthropic", "anthropic-messages", [1, 30]));
	expect(masked.length).toBeGreaterThan(7);
	expect(masked.join()).not.toContain("recall_original");
});

it("new decisions that the provider refuses twice are taken back, and none come for the next 20 requests", async () => {
	const { call, play } = load();
	const api = "anthropic-messages";
	let count = 1;
	let masked: string[] = [];
	for (; masked.length === 0; count += 1) {
		masked = maskedIn(await play("anthropic", api, [count, count]));
		await call("after_provider_response", { status: 200, headers: {} });
	}
	const known = maskedIn(await play("anthropic", api, [count, count]));
	expect(known).toEqual(masked);
	for (const _ of ["once", "again"]) {
		let more = known;
		for (count += 1; more.length === known.length; count += 1)
			more = maskedIn(await play("anthropic", api, [count, count]));
		await call("after_provider_response", { status: 400, headers: {} });
		expect(maskedIn(await play("anthropic", api, [count, count]))).toEqual(known);
		await call("after_provider_response", { status: 200, headers: {} });
	}
	// One of the 20 came right after the refusal.
	for (let next = count; next < count + 19; next += 1) {
		expect(maskedIn(await play("anthropic", api, [next, next]))).toEqual(known);
	}
	const after = maskedIn(await play("anthropic", api, [count + 20, count + 31]));
	expect(after.slice(0, known.length)).toEqual(known);
	expect(after.length).toBeGreaterThan(known.length);
});

describe("a result", () => {
	const result = (text: string, more = {}) => ({
		toolName: "bash",
		toolCallId: "toolu_01",
		input: { command: "npm test" },
		content: [
			{ type: "text", text },
			{ type: "image", data: "AAAA", mimeType: "image/png" },
		],
		...more,
	});
	const textOf = (answer: Record<string, unknown> | undefined) =>
		(answer?.content as { text: string }[] | undefined)?.[0]?.text ?? "";

	it("is cut on arrival over 16 000 characters, and its image stays", async () => {
		const { call, recall } = load();
		const answer = await call("tool_result", result(outputOf(1, 60_000)));
		expect(textOf(answer).length).toBeLessThanOrEqual(16_000);
		expect(answer).toMatchObject({ content: [{}, { type: "image", data: "AAAA", mimeType: "image/png" }] });
		const ref = / recall (\w+)\]/.exec(textOf(answer))?.[1];
		expect(await recall({ ref, lines: "3", max_tokens: 100 })).toContain("file-3.ts");
	});

	it.each([
		["", ""],
		[" and its command has failed", "\n\nCommand exited with code 1"],
	])("that pi has cut%s is cut from the file that pi names", async (_, status) => {
		const whole = outputOf(1, 90_000);
		await mkdir(join(folder, "tmp"));
		const file = join(folder, "tmp", "pi-bash-1.log");
		await writeFile(file, whole);
		const note = `\n\n[Showing lines 600-1500 of 1500 (50.0KB limit). Full output: ${file}]`;
		const { call, recall } = load();
		const answer = textOf(
			await call("tool_result", result(whole.slice(-51_200) + note + status, { isError: status !== "" })),
		);
		expect(answer.endsWith(status)).toBe(true);
		expect(answer.split("\n", 1)[0]).toContain(` of ${whole.length} characters). All of it: `);
		const ref = / recall (\w+)\]/.exec(answer)?.[1];
		expect(await recall({ ref, lines: "1", max_tokens: 100 })).toContain("src/part-1/file-1.ts");
	});

	it.each([
		["is small", result("small")],
		["is a file that was read", result(outputOf(1, 60_000), { toolName: "read", input: { path: "src/a.ts" } })],
		["is a plan", result(outputOf(1, 60_000), { toolName: "todo" })],
		["was recalled", result(outputOf(1, 60_000), { toolName: "recall_original" })],
		["was recalled by command", result(outputOf(1, 60_000), { input: { command: "palimpsest recall ku193 --all" } })],
	])("that %s stays", async (_, event) => {
		expect(await load().call("tool_result", event)).toBeUndefined();
	});
});

describe("the tool recall_original", () => {
	it("takes every part that the server's tool takes of an original", () => {
		const [tool] = load().tools;
		const ofServer = Object.keys(recallOriginal.inputSchema.shape).filter((name) => name !== "tool_call_id");
		expect(Object.keys(tool?.parameters.properties ?? {})).toEqual(ofServer);
	});

	it("searches the originals by words", async () => {
		const { call, recall } = load();
		const content = [{ type: "text", text: outputOf(2, 60_000) }];
		await call("tool_result", { toolName: "bash", toolCallId: "call_2", input: {}, content });
		expect(await recall({ query: "VALUE 2005" })).toMatch(
			/\n\w{12} Original (?:result|text).* matching lines:\n {2}\d+: /,
		);
		expect(await recall({ query: "nowhere to be found" })).toContain("No original was found.");
	});

	it("reads a head, a tail, characters, and the surroundings of a match", async () => {
		const { call, recall } = load();
		const text = outputOf(2, 60_000);
		const lines = text.split("\n");
		const content = [{ type: "text", text }];
		const answer = await call("tool_result", { toolName: "bash", toolCallId: "call_2", input: {}, content });
		const ref = / recall (\w+)\]/.exec(JSON.stringify(answer))?.[1];
		expect(await recall({ ref, head: 2 })).toBe(`${lines.slice(0, 2).join("\n")}\n`);
		expect(await recall({ ref, tail: 2 })).toBe(lines.slice(-2).join("\n"));
		expect(await recall({ ref, chars: "3-9" })).toBe(text.slice(3, 9));
		const around = await recall({ ref, grep: "value 2005 ", context: 1 });
		expect(
			around
				.trimEnd()
				.split("\n")
				.map((line) => line.split(/[:-]/, 1)[0]),
		).toEqual(["4", "5", "6"]);
	});
});

it("an unknown reference is an error that a model can read", async () => {
	await expect(load().recall({ ref: "kax041no" })).rejects.toThrow(/reference/);
});

describe("a compaction", () => {
	const user = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
	const preparation = (more = {}) => ({
		firstKeptEntryId: "e7",
		messagesToSummarize: [
			user("Find the values."),
			{ role: "assistant", content: [] },
			user("Never touch\nthe migrations."),
		],
		turnPrefixMessages: [],
		...more,
	});

	it("keeps the user's words below pi's own summary, and again in the next one", async () => {
		const { call } = load();
		const first = await call("session_before_compact", { preparation: preparation() });
		const { summary, firstKeptEntryId } = (first as { compaction: Record<string, string> }).compaction;
		expect(firstKeptEntryId).toBe("e7");
		const words =
			"What the user wrote, word for word, oldest first:\n---\nFind the values.\n---\nNever touch\nthe migrations.\n---";
		expect(summary).toBe(`## Goal\nFind the values.\n\n${words}`);
		const answer = { role: "toolResult", toolName: "ask_user", content: [{ type: "text", text: "The small one." }] };
		const messages = [user("Now the tests."), { ...answer, toolName: "bash" }, answer];
		const next = preparation({ previousSummary: summary, messagesToSummarize: messages });
		const second = await call("session_before_compact", { preparation: next });
		expect(second).toMatchObject({
			compaction: { summary: `## Goal\nFind the values.\n\n${words}\nNow the tests.\n---\nThe small one.\n---` },
		});
	});

	it("is pi's own if no person wrote anything", async () => {
		const nothing = preparation({ messagesToSummarize: [] });
		expect(await load().call("session_before_compact", { preparation: nothing })).toBeUndefined();
	});
});
