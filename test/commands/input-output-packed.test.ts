import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { storedFrame } from "../support/zstandard.ts";

const id = "0199a000-0000-7000-8000-000000000001";
const name = `rollout-2026-09-20T10-00-00-${id}.jsonl`;

function rollout(turns: number): string {
	const item = (payload: object) => ({ type: "response_item", payload });
	const records = Array.from({ length: turns }, (_, turn) => [
		item({ type: "function_call", name: "exec", arguments: "{}", call_id: `call_${turn}` }),
		item({ type: "function_call_output", call_id: `call_${turn}`, output: `object ${turn}\n`.repeat(60) }),
		{ type: "event_msg", payload: { type: "token_count", info: null } },
	]).flat();
	const meta = { type: "session_meta", payload: { id, cwd: "/work", timestamp: "2026-09-20T10:00:00Z" } };
	const user = item({ type: "message", role: "user", content: [{ type: "input_text", text: "Build it." }] });
	const time = { timestamp: "2026-09-20T10:00:00.000Z" };
	return [meta, user, ...records].map((record) => `${JSON.stringify({ ...time, ...record })}\n`).join("");
}

async function sessions(turns = 20) {
	const [plain, packed] = [await scratchFolder(), await scratchFolder()];
	await writeFile(join(plain, name), rollout(turns));
	await writeFile(join(packed, `${name}.zst`), storedFrame(Buffer.from(rollout(turns))));
	return { plain, packed };
}

it.each([
	["replay", "--policies", "raw,window:2"],
	["report", "--json"],
	["mask", "--respond-with", "report"],
	["count"],
	["restore", "--archive", "./archive"],
])("%s reads a packed session as its plain form", async (command, ...options) => {
	const { plain, packed } = await sessions();
	const [of, ofPacked] = [
		await runHere([command, name, ...options], { folder: plain }),
		await runHere([command, `${name}.zst`, ...options], { folder: packed }),
	];
	expect([of.code, of.lines]).toEqual([0, ofPacked.lines]);
	expect(ofPacked.text.replaceAll(`${name}.zst`, name)).toBe(of.text);
	expect(ofPacked.code).toBe(0);
});

it("mask prints plain records, and rescue writes a plain session beside a packed one", async () => {
	const { packed } = await sessions();
	const masked = await runHere(["mask", `${name}.zst`, "--set", "mask.window_turns=2"], { folder: packed });
	expect(masked.text.split("\n")).toHaveLength(rollout(20).split("\n").length);
	expect(JSON.parse(masked.text.split("\n")[0] ?? "").type).toBe("session_meta");
	const fitting = ["--context-window", "6000", "--archive", "./archive"];
	const { code, lines } = await runHere(["rescue", `${name}.zst`, ...fitting], { folder: packed });
	expect([code, lines]).toEqual([0, expect.anything()]);
	const [written = "", ...others] = (await readdir(packed)).filter(
		(file) => /^rollout.*[^t]$/.test(file) && file !== `${name}.zst`,
	);
	expect([written.endsWith(".jsonl"), others]).toEqual([true, []]);
	expect(JSON.parse((await readFile(join(packed, written), "utf8")).split("\n")[0] ?? "").type).toBe("session_meta");
});

it("replay of a folder says why it leaves out files, and names a damaged one if it is an argument", async () => {
	const { packed } = await sessions();
	const damaged = storedFrame(Buffer.from(rollout(9))).subarray(0, 900);
	await writeFile(join(packed, "damaged.jsonl.zst"), damaged);
	await writeFile(join(packed, "notes.json"), "7");
	const call = { role: "assistant", content: [{ type: "tool_use", id: "t", name: "ls", input: {} }] };
	const ofCommandCode = [
		{ type: "session", version: 3 },
		{ type: "message", message: call },
	];
	await writeFile(join(packed, "other.jsonl"), ofCommandCode.map((one) => JSON.stringify(one)).join("\n"));
	const { code, lines } = await runHere(["replay", ".", "--policies", "raw"], { folder: packed });
	expect([code, lines]).toEqual([
		0,
		[
			"palimpsest: left out 1 file that cannot be opened or unpacked, 1 file that cannot be read as a conversation, 1 file of a kind that is not supported (a session of Command Code)",
		],
	]);
	const named = await runHere(["replay", "damaged.jsonl.zst"], { folder: packed });
	expect([named.code === 0, named.lines.join("\n")]).toEqual([
		false,
		expect.stringContaining("Cannot unpack damaged.jsonl.zst"),
	]);
});
