import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Row } from "../../../src/hosts/mod/compaction.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import type { FigureLine } from "../../../src/storage/figures/line.ts";
import { readFigures } from "../../../src/storage/figures/store.ts";
import { shortenedRef } from "../../../src/storage/restore/recognise.ts";
import { logOf } from "../../support/hook-events.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { type Fault, startEngine } from "./stand-in-engine.ts";

const whole = logOf(2_000, { 700: "FAILED états : 部分" });

let home: string;

beforeEach(async () => {
	home = await scratchFolder();
});

const archiveFolder = () => join(home, ".local/state/palimpsest/archive");

async function original(shown: unknown) {
	const archive = await openArchive({ where: archiveFolder() });
	return archive?.get(shortenedRef(String(shown)) ?? "");
}

describe("a result that arrives", () => {
	it("is cut to the limit of its call, and every other face reads its original", async () => {
		const engine = await startEngine({ home });
		const shown = String(await engine.result(whole, { id: "toolu_7" }));
		expect(shown.length).toBeLessThanOrEqual(4_000);
		expect(shown).toContain("FAILED");
		expect(await original(shown)).toMatchObject({
			text: whole,
			kind: "result",
			toolCallId: "toolu_7",
			toolName: "Bash",
		});
		const archive = await openArchive({ where: archiveFolder() });
		expect(await archive?.find("toolu_7")).toHaveLength(1);
	});

	it.each([
		["short", "12 passed", {}],
		["what a person answered", whole, { tool: "AskUserQuestion" }],
		["a recalled original", whole, { tool: "mcp__palimpsest__recall_original" }],
		["an original that a shell recalled", whole, { input: { command: "palimpsest recall abcdefghijkl" } }],
		["a file within its limit", whole.slice(0, 15_000), { tool: "Read", input: { file_path: "a.ts" } }],
		["a text with half a character", `${whole}\ud800`, {}],
		["more than can be cut in time", "a line of text\n".repeat(150_000), {}],
	])("stays whole: %s", async (_, content, call) => {
		const engine = await startEngine({ home });
		expect(await engine.result(content, call)).toBe(content);
	});

	it("is cut in failing calls, and between images that stay", async () => {
		const engine = await startEngine({ home });
		expect(String(await engine.result(whole, { failed: true })).length).toBeLessThanOrEqual(4_000);
		const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
		const blocks = [{ type: "text", text: whole }, image, { type: "text", text: "End." }];
		const shown = (await engine.result(blocks, { tool: "mcp__files__search", input: {} })) as typeof blocks;
		expect(shown.slice(1)).toEqual(blocks.slice(1));
		expect((await original((shown[0] as { text: string }).text))?.text).toBe(whole);
	});

	it("is the same whatever came before with other words, and the same again for the same call", async () => {
		const [one, other] = [await startEngine({ home }), await startEngine({ home: await scratchFolder() })];
		expect(await one.result(whole)).toBe(await other.result(whole));
	});

	it("is not cut again where a hook has cut it", async () => {
		const engine = await startEngine({ home });
		const cut = await engine.result(whole);
		const hooked = `[Output shortened: 9 of 12 lines left out. All of it: palimpsest recall abcdefghijkl]\n${whole}`;
		expect(await engine.result(cut)).toBe(cut);
		expect(await engine.result(hooked)).toBe(hooked);
	});

	it("keeps a text that is archived already, and marks it as used after a day", async () => {
		const engine = await startEngine({ home });
		await engine.result(whole);
		const [bucket = ""] = (await readdir(join(archiveFolder(), "default"))).filter((name) => name.length === 2);
		const [hash = ""] = (await readdir(join(archiveFolder(), "default", bucket))).filter((name) => name.length === 64);
		const file = join(archiveFolder(), "default", bucket, hash);
		const old = new Date(Date.now() - 48 * 3_600_000);
		await utimes(file, old, old);
		await engine.result(whole, { id: "toolu_2" });
		expect(Date.now() - (await stat(file)).mtimeMs).toBeLessThan(3_600_000);
		await writeFile(file, whole.slice(0, 100));
		await engine.result(whole, { id: "toolu_3" });
		expect(await readFile(file, "utf8")).toBe(whole);
	});
});

describe("an output that Claude Code has saved", () => {
	const previewOf = (file: string) =>
		`<persisted-output>\nOutput too large (39.1KB). Full output saved to: ${file}\n\nPreview (first 2KB):\n${whole.slice(0, 2_000)}\n...\n</persisted-output>`;

	it("is shown as an excerpt of all of it", async () => {
		const engine = await startEngine({ home });
		const file = join(home, ".claude/projects/p/s/tool-results/b2q.txt");
		await mkdir(join(file, ".."), { recursive: true });
		await writeFile(file, whole);
		const shown = String(await engine.result(previewOf(file)));
		expect(shown).toContain("FAILED");
		expect((await original(shown))?.text).toBe(whole);
	});

	it.each(["/etc/passwd", "SESSION/tool-results/../../secret.txt", "SESSION/tool-results/none.txt"])(
		"stays a preview with a file that is not the session's: %s",
		async (named) => {
			const session = join(home, ".claude/projects/p/s");
			await mkdir(join(session, "tool-results"), { recursive: true });
			await writeFile(join(session, "../secret.txt"), whole);
			const engine = await startEngine({ home });
			const preview = previewOf(named.replace("SESSION", session));
			expect(await engine.result(preview)).toBe(preview);
		},
	);
});

describe("a fault of ours", () => {
	it("leaves 1 000 results whole, and the session goes on", async () => {
		const engine = await startEngine({ home, options: { command_chars: 300 } });
		const faults: readonly Fault[] = ["write", "handler"];
		for (let at = 0; at < 1_000; at += 1) {
			engine.fail(faults[at % faults.length]);
			const text = `${at} ${whole.slice(0, 400)}`;
			if ((await engine.result(text, { id: `toolu_${at}` })) !== text) throw new Error(`Result ${at} was cut.`);
		}
		engine.fail(undefined);
		expect(String(await engine.result(whole)).length).toBeLessThanOrEqual(300);
	});

	it("keeps the program waiting for two seconds at most", async () => {
		const engine = await startEngine({ home });
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		try {
			engine.fail("hang");
			let stored: unknown;
			void engine.result(whole).then((content) => {
				stored = content;
			});
			for (let turn = 0; turn < 1_000 && vi.getTimerCount() === 0; turn += 1) await nextTurn();
			await vi.advanceTimersByTimeAsync(1_900);
			expect(stored).toBeUndefined();
			await vi.advanceTimersByTimeAsync(200);
			expect(stored).toBe(whole);
		} finally {
			vi.useRealTimers();
		}
	});
});

describe("the hook of the same plugin", () => {
	const check = "tool.check mcp__plugin_palimpsest_palimpsest__shorten_result";

	it("does nothing while the mod cuts, and its server's tool is not offered twice", async () => {
		const engine = await startEngine({ home });
		expect(await engine.raise(check, {})).toMatchObject({ decision: "deny" });
		expect(engine.environment.PALIMPSEST_MOD).toBe("1");
		const listed = { value: [{ name: "Bash" }, { name: "mcp__plugin_palimpsest_palimpsest__recall_original" }] };
		expect(await engine.raise("tool.list", {}, () => listed)).toEqual({ value: [{ name: "Bash" }] });
		expect(engine.registered).toMatchObject([{ name: "recall_original", isDeferred: false }]);
	});

	it.each([
		["another archive", { PALIMPSEST_ARCHIVE: "redis://127.0.0.1:6379" }, ""],
		["no archive", { PALIMPSEST_ARCHIVE: "none" }, ""],
		["another preset", { PALIMPSEST_PRESET: "context-guard" }, ""],
		["a redaction", {}, 'archive.redact = ["sk-\\\\w+"]'],
		["a redaction of credentials", {}, "[archive]\nredact_credentials = true"],
		["a policy that is wrong", {}, "[truncate\nmax_chars = 3"],
	])("works instead with %s", async (_, variables, policy) => {
		await mkdir(join(home, ".config/palimpsest"), { recursive: true });
		await writeFile(join(home, ".config/palimpsest/palimpsest.toml"), policy);
		const engine = await startEngine({ home, variables });
		expect(await engine.result(whole)).toBe(whole);
		expect(await engine.raise(check, {})).toEqual({});
		expect(engine.registered).toEqual([]);
		expect(engine.logged).toHaveLength(1);
	});

	it("works instead where the project's policy redacts", async () => {
		await mkdir(join(home, "project"), { recursive: true });
		await writeFile(join(home, "project/palimpsest.toml"), 'archive.redact = ["x"]');
		const engine = await startEngine({ home });
		expect(await engine.result(whole)).toBe(whole);
	});
});

describe("settings", () => {
	it("take the sizes of the policy, and those of the plugin before them", async () => {
		await mkdir(join(home, ".config/palimpsest"), { recursive: true });
		await writeFile(
			join(home, ".config/palimpsest/palimpsest.toml"),
			"[truncate]\nmax_chars = 9000\ncommand_chars = 2000",
		);
		const ofPolicy = await startEngine({ home });
		expect(String(await ofPolicy.result(whole)).length).toBeLessThanOrEqual(2_000);
		const ofPlugin = await startEngine({
			home,
			options: { command_chars: 1_000, max_chars: "nonsense", language: "fr" },
		});
		const shown = String(await ofPlugin.result(whole));
		expect(shown.length).toBeLessThanOrEqual(1_000);
		expect(shown).toMatch(/^\[Sortie abrégée|^\[abrégé/);
		const read = { tool: "Read", input: { file_path: "a.ts" } };
		expect(String(await ofPlugin.result(whole, read)).length).toBeLessThanOrEqual(9_000);
	});

	it("cut no file with thrift low", async () => {
		await mkdir(join(home, ".config/palimpsest"), { recursive: true });
		await writeFile(join(home, ".config/palimpsest/palimpsest.toml"), 'mask.thrift = "low"');
		const engine = await startEngine({ home });
		expect(await engine.result(whole, { tool: "Read", input: { file_path: "a.ts" } })).toBe(whole);
	});
});

describe("recall", () => {
	it("answers with a part, and names the call that goes on", async () => {
		const engine = await startEngine({ home });
		const ref = shortenedRef(String(await engine.result(whole)));
		expect((await engine.recall({ ref, grep: "FAILED", context: 0 })).result).toMatch(
			/^\[Original: 1 of 1 matching lines.*\n700:/,
		);
		const begun = String((await engine.recall({ ref: `ref=${ref}`, max_tokens: 100 })).result);
		expect(begun).toContain(`call recall_original {"ref":"${ref}"`);
		expect((await engine.recall({ query: "failed ÉTATS" })).result).toContain(`${ref}:\n  700:`);
	});

	it.each([
		[{ ref: "abcdefghijkl" }, "No original is kept"],
		[{ ref: "../../etc/passwd" }, "No original is kept"],
		[{}, "Expected `ref`"],
		[{ query: "nothing like it" }, "No original was found"],
	])("says what is wrong with %j", async (input, said) => {
		const engine = await startEngine({ home });
		expect((await engine.recall(input)).result).toContain(said);
	});

	it("refuses a part that is none", async () => {
		const engine = await startEngine({ home });
		const ref = shortenedRef(String(await engine.result(whole)));
		expect((await engine.recall({ ref, lines: "ninety" })).result).toContain("lines");
	});
});

describe("figures", () => {
	const usage = { model: "claude-opus-5-5", input_tokens: 10, output_tokens: 100, cache_read_input_tokens: 1_000 };

	const lines = async (count: number) => {
		const read = async () => {
			const found: FigureLine[] = [];
			const folder = join(home, ".local/state/palimpsest/figures");
			for await (const line of readFigures({ since: Date.now() - 3_600_000, folder })) found.push(line);
			return found;
		};
		await vi.waitUntil(async () => (await read().catch(() => [])).length === count);
		return read();
	};

	it("are those of each request and of what was cut, in the folder of all figures", async () => {
		const engine = await startEngine({ home });
		const { passed } = await engine.step({
			...usage,
			cache_creation_input_tokens: 200,
			ephemeral_1h_input_tokens: 200,
		});
		expect(passed).toEqual([{ kind: "text" }]);
		await engine.result(whole);
		await engine.step(usage, "a1");
		expect(await lines(3)).toMatchObject([
			{ kind: "request", program: "claude", input: 10, read: 1_000, write: 200, billed: 10 + 50 + 400 },
			{ kind: "result", by: "plugin", chars_before: whole.length },
			{ kind: "request", agent: "Explore" },
		]);
	});

	const health = { "http://127.0.0.1:9000/palimpsest/healthz": '{"status":"ok","version":"0.1.0","pid":7}' };

	it.each([{ PALIMPSEST_PROXY: "http://127.0.0.1:40001" }, { ANTHROPIC_BASE_URL: "http://127.0.0.1:9000/anthropic" }])(
		"leave requests to the proxy that counts them, on any port: %j",
		async (variables) => {
			const engine = await startEngine({ home, variables, answers: health });
			await engine.step({ model: "claude-opus-5-5", input_tokens: 10, output_tokens: 100 });
			expect(await readdir(home)).toEqual([]);
			await engine.result(whole);
			const folder = join(home, ".local/state/palimpsest/figures");
			await vi.waitUntil(async () => (await readdir(folder).catch(() => [])).length === 1);
			const [file = ""] = await readdir(folder);
			expect(await readFile(join(folder, file), "utf8")).not.toContain('"request"');
		},
	);

	it.each([
		["another server on this machine", "http://127.0.0.1:9001"],
		["a server that answers otherwise", "http://localhost:9002"],
		["a server elsewhere", "https://gateway.example/palimpsest"],
	])("count requests to %s", async (_, ANTHROPIC_BASE_URL) => {
		const answers = { "http://localhost:9002/palimpsest/healthz": '{"status":"ok"}' };
		const engine = await startEngine({ home, variables: { ANTHROPIC_BASE_URL }, answers });
		await engine.step(usage);
		expect(await lines(1)).toMatchObject([{ kind: "request" }]);
	});

	it("tell why the cache broke, for the session and each subagent by its name", async () => {
		const engine = await startEngine({ home });
		vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 28, 12) });
		try {
			const answer = { ...usage, input_tokens: 0 };
			const [first, again] = [
				{ ...answer, cache_read_input_tokens: 0, cache_creation_input_tokens: 40_000 },
				{ ...answer, cache_read_input_tokens: 40_000, cache_creation_input_tokens: 1_000 },
			];
			const broken = { ...answer, cache_read_input_tokens: 10_000, cache_creation_input_tokens: 31_000 };
			await engine.step(first);
			await engine.step(first, "a1");
			await engine.step(again);
			await engine.step(again, "a1");
			await engine.step(broken, undefined, "high");
			await engine.step({ ...broken, model: "claude-sonnet-5" }, undefined, "high");
			vi.setSystemTime(Date.now() + 6 * 60_000);
			await engine.step({ ...broken, model: "claude-sonnet-5" }, undefined, "high");
			const read = await lines(10);
			expect(read.filter(({ kind }) => kind === "break")).toMatchObject([
				{ cause: "effort", tokens: 31_000, usd: expect.closeTo(0.149, 3) },
				{ cause: "model", tokens: 31_000 },
				{ cause: "pause", tokens: 31_000 },
			]);
			expect(read.filter((line) => "agent" in line)).toMatchObject([{ agent: "Explore" }, { agent: "Explore" }]);
		} finally {
			vi.useRealTimers();
		}
	});

	it("tell of a resume with an expired cache, and of masking in a compaction", async () => {
		const resumed = { source: "resume", prompt_cache_likely_expired: true, context_tokens: 40_000 };
		const engine = await startEngine({ home, resumed });
		const written = { ...usage, input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 41_000 };
		await engine.step(written);
		engine.conversation.tokens = 41_000;
		engine.conversation.rows = Array.from({ length: 20 }, (_, at): Row[] => [
			{ role: "assistant", text: "", toolUses: [{ tool_use_id: `t${at}`, tool: "Bash", input: {} }] },
			{ role: "user", text: "", toolUses: [], toolResults: [{ tool_use_id: `t${at}`, text: whole.slice(0, 4_000) }] },
		]).flat();
		expect(await engine.compact()).toBeDefined();
		await engine.step({ ...written, cache_read_input_tokens: 12_000, cache_creation_input_tokens: 20_000 });
		expect((await lines(4)).filter(({ kind }) => kind === "break")).toMatchObject([
			{ cause: "pause", tokens: 40_000 },
			{ cause: "masking", tokens: 20_000 },
		]);
	});

	it("are not kept where the policy keeps none", async () => {
		const engine = await startEngine({ home, variables: { PALIMPSEST_FIGURES: "none" } });
		await engine.step({ model: "claude-opus-5-5", input_tokens: 10, output_tokens: 100 });
		expect(await readdir(home)).toEqual([]);
	});
});
