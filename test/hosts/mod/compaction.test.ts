import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { Row } from "../../../src/hosts/mod/compaction.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { logOf } from "../../support/hook-events.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { startEngine } from "./stand-in-engine.ts";

const turns = 40;
const textOf = (turn: number) => `result ${turn}\n${logOf(240)}`.slice(0, 6_000);

let home: string;

beforeEach(async () => {
	home = await scratchFolder();
});

interface Odd {
	readonly tool?: string;
	readonly text?: string;
	readonly isError?: boolean;
}

/** Each turn thinks, calls and gets a result; some are odd. The person spoke before the first and the tenth. */
function conversation(odd: Readonly<Record<number, Odd>> = {}): Row[] {
	const rows: Row[] = [];
	for (let turn = 0; turn < turns; turn += 1) {
		if (turn % 10 === 0) rows.push({ role: "user", text: `Words ${turn}.`, toolUses: [], handle: `h${rows.length}` });
		const { tool = "Bash", text = textOf(turn), isError = false } = odd[turn] ?? {};
		const id = `toolu_${turn}`;
		const input = tool === "Bash" ? { command: `run ${turn}` } : { query: `row ${turn}` };
		const use = { tool_use_id: id, tool, input };
		rows.push(
			{ role: "assistant", text: "", toolUses: [], handle: `h${rows.length}` },
			{ role: "assistant", text: `Turn ${turn}.`, toolUses: [use], handle: `h${rows.length + 1}` },
			{ role: "user", text: "", toolUses: [], toolResults: [{ tool_use_id: id, text, isError }], handle: "h" },
		);
	}
	return rows;
}

async function start(given: Partial<Parameters<typeof startEngine>[0]> = {}) {
	const engine = await startEngine({ home, rows: conversation(), ...given });
	engine.conversation.tokens = 60_000;
	return engine;
}

const resultsOf = (rows: readonly Row[] = []) => rows.flatMap(({ toolResults = [] }) => toolResults);

const shownAfter = async (engine: Awaited<ReturnType<typeof start>>, turn: number) =>
	resultsOf((await engine.compact())?.messages).find(({ tool_use_id: id }) => id === `toolu_${turn}`)?.text;

async function originalIn(text: string | undefined) {
	const archive = await openArchive({ where: join(home, ".local/state/palimpsest/archive") });
	return (await archive?.get(/ref=(?<ref>[a-z2-7]{12})/.exec(text ?? "")?.groups?.ref ?? ""))?.text;
}

describe("a compaction", () => {
	it("masks results older than the window of turns, and each is read by every other face", async () => {
		const engine = await start();
		const results = resultsOf((await engine.compact())?.messages);
		const whole = results.filter(({ text }) => text.startsWith("result "));
		expect(whole.map(({ text }) => text)).toEqual(Array.from({ length: 8 }, (_, at) => textOf(turns - 8 + at)));
		for (const [turn, { text }] of results.slice(0, -8).entries()) {
			expect(text).toMatch(/^\[Observation masked: .*tool=Bash, chars=\d+, ref=\w{12}\)\]/);
			expect(await originalIn(text)).toBe(textOf(turn));
		}
		const ref = /ref=(\w{12})/.exec(results[3]?.text ?? "")?.[1];
		expect((await engine.recall({ ref, lines: "1-1" })).result).toContain("result 3");
	});

	it("keeps people's words as they are stored, and gives no other row a handle or reasoning", async () => {
		const rows = (await (await start()).compact())?.messages ?? [];
		expect(rows.filter(({ handle }) => handle !== undefined)).toEqual(
			conversation().filter(({ text }) => text.startsWith("Words")),
		);
		expect(rows.filter(({ role }) => role === "assistant").map(({ text }) => text)).toEqual(
			Array.from({ length: turns }, (_, turn) => `Turn ${turn}.`),
		);
		expect(rows.flatMap(({ toolUses }) => toolUses)[7]).toEqual({
			tool_use_id: "toolu_7",
			tool: "Bash",
			input: { command: "run 7" },
		});
	});

	it("says its price, and that the hook of the same plugin need not give people's words back", async () => {
		const engine = await start();
		await engine.compact();
		expect(engine.logged.at(-1)).toMatch(
			/^palimpsest: 32 old results masked in place of a summary, some \d+ tokens left\. .*about \$\d\.\d\d.* reasoning of 40 answers/,
		);
		expect(engine.environment.PALIMPSEST_MOD).toBe("masked");
		await engine.compact({ instructions: "the plan" });
		expect(engine.environment.PALIMPSEST_MOD).toBe("1");
	});

	it.each([
		["an error that nothing has resolved", { tool: "mcp__db__query", isError: true }],
		["what a person answered", { tool: "AskUserQuestion" }],
		["the instructions of a skill", { tool: "Skill" }],
		["what is not longer than its placeholder", { text: "12 passed" }],
		["a text with half a character", { text: `${textOf(2)}\ud800` }],
	] as [string, Odd][])("leaves %s whole", async (_, odd) => {
		const engine = await start({ rows: conversation({ 2: odd }) });
		expect(await shownAfter(engine, 2)).toBe(odd.text ?? textOf(2));
		expect(await shownAfter(engine, 3)).toContain("Observation masked");
	});

	it("names what is no text, which such a list cannot hold", async () => {
		const engine = await start({ rows: conversation({ 39: { tool: "Read", text: "" } }) });
		const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
		engine.conversation.sent = [
			{ content: "Words 0." },
			{ content: [{ type: "tool_result", tool_use_id: "toolu_39", content: [image] }] },
		];
		expect(await shownAfter(engine, 39)).toMatch(/^\[Media masked: image\/png/);
	});

	it("names the original of an excerpt where it is kept, and else keeps the excerpt", async () => {
		const engine = await start();
		const log = logOf(2_000);
		const cut = String(await engine.result(log));
		const forged = `[Output shortened: 9 of 12 lines left out (90 of 120 characters), ref=abcdefghijkl]\n${logOf(90)}`;
		engine.conversation.rows = conversation({ 1: { text: cut }, 2: { text: forged } });
		expect(await originalIn(await shownAfter(engine, 1))).toBe(log);
		expect(await originalIn(await shownAfter(engine, 2))).toBe(forged);
	});

	it("takes a shorter window of turns where the longer leaves too much", async () => {
		const engine = await start();
		engine.conversation.tokens = 150_000;
		const whole = resultsOf((await engine.compact())?.messages).filter(({ text }) => text.startsWith("result "));
		expect(whole).toHaveLength(2);
	});

	it.each([
		["it would still fill more than half of the window", { tokens: 190_000 }, {}],
		["it would leave out less than a quarter", { tokens: 90_000, rows: conversation().slice(0, 30) }, {}],
		["the last answer's size is not known", { tokens: undefined }, {}],
		["a person says what to keep", {}, { trigger: "manual", instructions: "the plan" }],
		["it is that of a subagent", {}, { agentId: "a1" }],
		["nothing is old", { rows: conversation().slice(0, 12) }, {}],
	])("is left to Claude Code where %s", async (_, of, how) => {
		const engine = await start();
		Object.assign(engine.conversation, of);
		expect(await engine.compact(how)).toBeUndefined();
	});

	it("is left to Claude Code where the policy masks nothing, and where an original cannot be kept", async () => {
		const faulty = await start();
		faulty.fail("write");
		expect(await faulty.compact()).toBeUndefined();
		await mkdir(join(home, ".config/palimpsest"), { recursive: true });
		await writeFile(join(home, ".config/palimpsest/palimpsest.toml"), "mask.enabled = false");
		expect(await (await start()).compact()).toBeUndefined();
	});

	it("is not prepared by a summary where masking will do", async () => {
		const engine = await start();
		expect(await engine.compact({ trigger: "precompute" })).toHaveProperty("skip");
		engine.conversation.tokens = 190_000;
		expect(await engine.compact({ trigger: "precompute" })).toBeUndefined();
	});

	it("begins after a turn only where a person has asked for it", async () => {
		const usual = await start();
		usual.conversation.tokens = 190_000;
		await usual.raise("turn.complete", {});
		expect(usual.ran).toEqual([]);
		const asked = await start({ options: { compact_at: 40 } });
		await asked.raise("turn.complete", {});
		expect(asked.ran).toEqual([]);
		asked.conversation.tokens = 80_000;
		await asked.raise("turn.complete", { agentId: "a1" });
		expect(asked.ran).toEqual([]);
		await asked.raise("turn.complete", {});
		expect(asked.ran).toEqual(["compact"]);
	});
});

describe("a session that is resumed", () => {
	const expired = { source: "resume", prompt_cache_likely_expired: true, estimated_cache_write_usd: 0.6 };

	it("is told what its first request costs as it is and masked", async () => {
		const engine = await start({ resumed: { ...expired, context_tokens: 60_000 } });
		expect(engine.logged).toHaveLength(1);
		expect(engine.logged[0]).toMatch(
			/^palimpsest: The cache .* writes 60 000 tokens again, about \$0\.60\. .* \d\d \d\d\d tokens, about \$0\.\d\d \(\/palimpsest mask\)\.$/,
		);
	});

	it.each([
		["is new", { ...expired, source: "startup", context_tokens: 60_000 }],
		["is small", { ...expired, context_tokens: 50_000 }],
		["has a warm cache", { ...expired, prompt_cache_likely_expired: false, context_tokens: 60_000 }],
	])("is told nothing where it %s", async (_, resumed) => {
		expect((await start({ resumed })).logged).toEqual([]);
	});
});

describe("/palimpsest", () => {
	it("is offered, and shows what fills the window", async () => {
		const engine = await start();
		expect(engine.commands).toMatchObject([{ name: "palimpsest" }]);
		const shown = await engine.palimpsest();
		expect(shown).toContain("60 000 of 200 000 tokens (30 %): Messages 1 000");
		expect(shown).toMatch(/40 results of tools in view, 2\d\d \d\d\d characters/);
		expect(shown).toMatch(/1\. Bash run \d+, 6 000 characters/);
		expect(shown).toMatch(/Masking 32 old results would leave about \d\d \d\d\d tokens\. .* \(about \$/);
	});

	it.each([
		["a word", "mask", []],
		["the picker", "", [0]],
	])("masks at once by %s, however little that is", async (_, args, choices) => {
		const engine = await start();
		engine.choices.push(...choices);
		engine.conversation.tokens = 190_000;
		await engine.palimpsest(args);
		expect(engine.ran).toEqual(["compact"]);
		expect(resultsOf((await engine.compact({ trigger: "manual" }))?.messages)[0]?.text).toContain("masked");
		expect(await engine.compact({ trigger: "manual" })).toBeUndefined();
	});

	it("leaves all as it is where what a person wants masked cannot be archived", async () => {
		const engine = await start();
		await engine.palimpsest("mask");
		engine.fail("write");
		expect(await engine.compact({ trigger: "manual" })).toMatchObject({ skip: expect.stringContaining("archived") });
	});

	it("masks no result that is new, and asks for no summary in its place", async () => {
		const engine = await start({ rows: conversation().slice(0, 12) });
		await engine.palimpsest("mask");
		expect(await engine.compact({ trigger: "manual" })).toMatchObject({ skip: expect.stringContaining("old enough") });
	});

	it("masks nothing later where the compaction could not begin", async () => {
		const engine = await start();
		engine.conversation.tokens = 190_000;
		engine.fail("command");
		await engine.palimpsest("mask");
		expect(await engine.compact()).toBeUndefined();
	});

	it("keeps results that a person names", async () => {
		const engine = await start({ rows: conversation({ 5: { text: `${textOf(5)} and more` } }) });
		expect(await engine.palimpsest("keep 1")).toContain("run 5");
		expect(await engine.palimpsest()).toContain("(stays)");
		expect(await shownAfter(engine, 5)).toBe(`${textOf(5)} and more`);
	});

	it("asks for an original in the prompt", async () => {
		const engine = await start();
		const cut = String(await engine.result(logOf(2_000)));
		engine.conversation.rows = conversation({ 4: { text: cut } });
		engine.choices.push(2, 0);
		const ref = /ref=(\w{12})/.exec(cut)?.[1] ?? "";
		expect(await engine.palimpsest()).toContain(ref);
		expect(engine.drafts).toEqual([`Read ${ref} with recall_original.`]);
	});
});
