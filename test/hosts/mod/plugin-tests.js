// Run by `claude plugin test` in a copy of the plugin: Claude Code's own engine raises each event, and what stands beneath is in memory.
// The kit cannot raise `tool.list`.
import { expect, mock, test } from "claude-code/testing";

const log = Array.from({ length: 900 }, (_, at) => `line ${at} of the log is fine\n`).join("");

function world(on, { write = () => ({ value: null }), variables = {} } = {}) {
	const files = new Map();
	mock.env(on, { HOME: "/home/u", ...variables });
	on("session.start", (_, e) => ({ cwd: e.cwd }));
	on("session.info", () => ({ value: { transcriptPath: "/home/u/.claude/s.jsonl", platform: "linux" } }));
	on("session.root", () => ({ value: "/home/u/project" }));
	on("session.id", () => ({ value: "10a1f8a2-9bd8-429d-8b1f-ceaccdb918d2" }));
	on("session.model", () => ({ value: "claude-opus-5-5" }));
	on("session.messages", () => ({ value: [] }));
	on("session.usage", () => ({
		value: { startedAt: 0, rateLimits: [], context: { tokens: 60_000, window: 200_000 } },
	}));
	on("env.set", () => ({ value: { isSet: true } }));
	on("fs.read", (_, e) => {
		if (!files.has(e.path)) return { deny: "ENOENT" };
		return { value: files.get(e.path) };
	});
	on("fs.stat", (_, e) => {
		if (!files.has(e.path)) return { deny: "ENOENT" };
		return { value: { size: files.get(e.path).length, mtimeMs: Date.now() } };
	});
	on("fs.list", (_, e) => ({
		value: [...files.keys()]
			.filter((path) => path.startsWith(`${e.path}/`))
			.map((path) => ({ name: path.slice(e.path.length + 1).split("/")[0], kind: "file" })),
	}));
	on("fs.write", (_, e) => {
		const refused = write(e);
		if (refused.deny === undefined) files.set(e.path, e.text);
		return refused;
	});
	on("tool.register", (_, e) => ({ value: { name: e.name } }));
	on("command.register", (_, e) => ({ value: { command: e.name } }));
	on("ui.log", () => ({ value: null }));
	return files;
}

const result = (content) => ({
	door: "tool-result",
	origin: { kind: "tool", tool: "Bash" },
	uuid: "u1",
	message: { type: "user", role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content }] },
});

const start = ($) => $.session.start({ cwd: "/home/u/project", surface: null, isInteractive: false });

test(
	"session.append: a large result is cut, and its original is written first",
	{ timeoutMs: 30_000 },
	async ($, on) => {
		const files = world(on);
		await start($);
		const { message } = await $.session.append(result(log));
		expect(message.content[0].content).toContain("[Output shortened:");
		expect([...files.values()].includes(log)).toBe(true);
	},
);

test(
	"session.append: a result stays whole where its original cannot be written",
	{ timeoutMs: 30_000 },
	async ($, on) => {
		world(on, { write: () => ({ deny: "EIO" }) });
		await start($);
		const { message } = await $.session.append(result(log));
		expect(message.content[0].content).toBe(log);
	},
);

test("tool.call: a recall is answered without a permission", { timeoutMs: 30_000 }, async ($, on) => {
	world(on);
	await start($);
	const { message } = await $.session.append(result(log));
	const [, ref] = /ref=(\w{12})/.exec(message.content[0].content);
	const answer = await $.tool.call({ tool: "mcp__palimpsest__recall_original", ref, lines: "7-7" });
	expect(JSON.stringify(answer)).toContain("line 6 of the log");
});

test("tool.check: the hook beside the mod is not called", { timeoutMs: 30_000 }, async ($, on) => {
	world(on);
	on("tool.check", () => ({ decision: "allow" }));
	await start($);
	const { decision } = await $.tool.check({ tool: "mcp__plugin_palimpsest_palimpsest__shorten_result", input: {} });
	expect(decision).toBe("deny");
});

test("turn.step: an answer is a figure", { timeoutMs: 30_000 }, async ($, on) => {
	const files = world(on);
	const usage = {
		model: "claude-opus-5-5",
		input_tokens: 1,
		output_tokens: 2,
		cache_read_input_tokens: 0,
		cache_creation_input_tokens: 0,
	};
	on("turn.step", async function* (_, e) {
		yield { kind: "text", index: 0, text: "Hello" };
		return { turnId: e.turnId, index: e.index, answer: "Hello", toolUses: [], stopReason: "end_turn", usage };
	});
	await start($);
	for await (const _ of $.turn.step({ turnId: "t", index: 0, model: "claude-opus-5-5", messageCount: 1 })) void _;
	await new Promise((resolve) => setTimeout(resolve, 50));
	expect([...files.entries()].some(([path, text]) => path.includes("figures") && text.includes('"request"'))).toBe(
		true,
	);
});

test(
	"session.compact: old results are masked, and a fault leaves it to Claude Code",
	{ timeoutMs: 30_000 },
	async ($, on) => {
		const files = world(on);
		on("session.compact", () => ({ messages: [{ role: "user", text: "A summary.", toolUses: [] }] }));
		await start($);
		const turns = Array.from({ length: 20 }, (_, at) => [
			{ role: "assistant", text: "", toolUses: [{ tool_use_id: `t${at}`, tool: "Bash", input: { command: "ls" } }] },
			{
				role: "user",
				text: "",
				toolUses: [],
				toolResults: [{ tool_use_id: `t${at}`, text: log.slice(0, 9_000), isError: false }],
			},
		]).flat();
		const compacted = await $.session.compact({
			trigger: "auto",
			messages: [{ role: "user", text: "Words.", toolUses: [] }, ...turns],
		});
		expect(
			compacted.messages.filter(({ toolResults }) => toolResults?.[0].text.startsWith("[Observation masked")).length,
		).toBe(12);
		expect([...files.values()].includes(log.slice(0, 9_000))).toBe(true);
		const small = await $.session.compact({ trigger: "auto", messages: turns.slice(0, 2) });
		expect(small.messages[0].text).toBe("A summary.");
	},
);

test("command.run: /palimpsest shows what fills the window", { timeoutMs: 30_000 }, async ($, on) => {
	world(on);
	await start($);
	const { text } = await $.command.run({
		command: "palimpsest",
		args: "",
		origin: { kind: "composer" },
		presentation: { isFullscreen: false, columns: 80 },
	});
	expect(text).toContain("60 000 of 200 000 tokens");
});

test("classic.SessionStart and turn.complete pass", { timeoutMs: 30_000 }, async ($, on) => {
	world(on);
	on("classic.SessionStart", () => ({}));
	on("turn.complete", () => ({ text: "Done." }));
	await $.classic.SessionStart({ source: "resume", prompt_cache_likely_expired: true, context_tokens: 60_000 });
	await start($);
	expect(
		await $.turn.complete({
			turnId: "t",
			answer: "Done.",
			reason: "answer",
			isAborted: false,
			durationMs: 1,
			usage: null,
		}),
	).toMatchObject({ text: "Done." });
});
