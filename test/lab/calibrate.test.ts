import { describe, expect, it } from "vitest";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { policyOf } from "../support/policy-of.ts";
import { everyConversation, hasRealData, realConversations } from "../support/real-conversations.ts";
import { startCalibration } from "./calibrate.ts";

const calibration = () => startCalibration(ratesOfPrices(policyOf().prices));

const start = 1_700_000_000_000;

const record = (uuid: string, parentUuid: string | null, seconds: number, read: number, write: number) => ({
	type: "assistant",
	uuid,
	parentUuid,
	sessionId: "s",
	timestamp: new Date(start + 1_000 * seconds).toISOString(),
	message: {
		id: `msg_${uuid}`,
		role: "assistant",
		model: "m",
		content: [{ type: "text", text: uuid }],
		usage: {
			input_tokens: 0,
			cache_read_input_tokens: read,
			cache_creation_input_tokens: write,
			cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: write },
		},
	},
});
const prompt = (uuid: string, parentUuid: string, seconds: number) => ({
	...record(uuid, parentUuid, seconds, 0, 0),
	type: "user",
	message: { role: "user", content: uuid },
});

const resumed = {
	role: "assistant",
	model: "<synthetic>",
	content: [{ type: "text", text: "No response requested." }],
	usage: { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
};
const pi = (id: string, parentId: string | null, message: object) => {
	return { type: "message", id, parentId, timestamp: new Date(start).toISOString(), message };
};
const piAnswer = (id: string, parentId: string, usage: object) => {
	const content = [{ type: "text", text: id }];
	return pi(id, parentId, { role: "assistant", content, model: "m", usage: { input: 0, ...usage } });
};

/** Of the last of three records, a call of 10 000 tokens. */
const difference = (read_tokens: number, predicted_read_tokens: number, cause: string) => {
	return { message: 2, input_tokens: 10_000, read_tokens, predicted_read_tokens, cause };
};

describe("calibration", () => {
	it("bills a session by the lifetime that its own usage has", () => {
		const one = calibration();
		const session = [
			record("a", null, 0, 0, 9_000),
			prompt("b", "a", 3_000),
			record("c", "b", 3_001, 9_000, 1_000),
			prompt("d", "c", 7_000),
			record("e", "d", 7_001, 0, 11_000),
		];
		expect(one.add({ file: "s.jsonl", conversation: session })).toBe("calibrated");
		const { total, without_forks, files } = one.report();
		expect(total).toMatchObject({ llm_calls: 3, read_tokens: 9_000, predicted_read_tokens: 9_000 });
		expect(total.billed).toBeCloseTo(9_000 * 0.1 + 21_000 * 2, 6);
		expect(without_forks).toEqual(total);
		expect(files[0]).toMatchObject({ file: "s.jsonl", has_forks: false, differences: [] });
	});

	it("reads the calls of a branch that was rewound", () => {
		const one = calibration();
		const session = [
			record("a", null, 0, 0, 9_000),
			prompt("b", "a", 10),
			record("c", "b", 11, 9_000, 1_000),
			prompt("d", "a", 20),
			record("e", "d", 21, 2_000, 8_000),
		];
		one.add({ file: "s.jsonl", conversation: session });
		const { without_forks, files } = one.report();
		expect(without_forks.conversations).toBe(0);
		expect(files[0]).toMatchObject({
			has_forks: true,
			differences: [{ read_tokens: 2_000, predicted_read_tokens: 9_000, cause: "fork" }],
		});
	});

	it("reads a resumed session of Claude Code, and a compaction of pi that kept the last call", () => {
		const notice = { ...record("n", "b", 12, 0, 0), message: resumed };
		const resumption = [record("a", null, 0, 500, 8_500), prompt("b", "a", 10), notice, prompt("c", "n", 13)];
		const one = calibration();
		one.add({ file: "s.jsonl", conversation: [...resumption, record("d", "c", 14, 500, 9_400)] });
		const compacted = [
			{ type: "session", id: "s", timestamp: new Date(start).toISOString() },
			pi("p", null, { role: "user", content: "p" }),
			piAnswer("q", "p", { cacheRead: 0, cacheWrite: 9_000 }),
			{ ...pi("r", "q", {}), type: "compaction", summary: "r", firstKeptEntryId: "q" },
			pi("t", "r", { role: "user", content: "t" }),
			piAnswer("u", "t", { cacheRead: 0, cacheWrite: 9_500 }),
			pi("v", "u", { role: "user", content: "v" }),
			piAnswer("w", "v", { cacheRead: 9_500, cacheWrite: 9 }),
		];
		one.add({ file: "p.jsonl", conversation: compacted });
		const { files } = one.report();
		expect(files.map(({ has_forks, differences }) => ({ has_forks, differences }))).toEqual([
			{ has_forks: false, differences: [] },
			{ has_forks: false, differences: [] },
		]);
	});

	it.each([
		["an answer of the model", { ...resumed, model: "m" }],
		["another notice", { ...resumed, content: [{ type: "text", text: "API Error" }] }],
	])("does not take %s for a resumption", (_, message) => {
		const one = calibration();
		const session = [
			record("a", null, 0, 500, 8_500),
			prompt("b", "a", 10),
			{ ...record("n", "b", 12, 0, 0), message },
		];
		one.add({ file: "s.jsonl", conversation: [...session, prompt("c", "n", 13), record("d", "c", 14, 500, 9_400)] });
		expect(one.report().files[0]?.differences.at(-1)).toMatchObject({ read_tokens: 500, cause: "prompt" });
	});

	it("gives all figures of all sessions, of each, and of those without forks", () => {
		const one = calibration();
		const exact = [record("a", null, 0, 100, 9_000), prompt("b", "a", 10), record("c", "b", 11, 9_100, 900)];
		const near = [record("a", null, 0, 0, 9_000), prompt("b", "a", 10), record("c", "b", 11, 9_400, 600)];
		const far = [record("a", null, 0, 0, 9_000), prompt("b", "a", 10), record("c", "b", 11, 500, 9_500)];
		for (const [file, conversation] of Object.entries({ exact, near, far })) one.add({ file, conversation });
		const { total, within_5_percent, files, without_forks, without_unexplained } = one.report();
		expect(total).toMatchObject({
			conversations: 3,
			llm_calls: 6,
			read_tokens: 100 + 9_100 + 9_400 + 500,
			predicted_read_tokens: 100 + 9_100 + 9_000 + 9_000,
			written_tokens: 9_000 + 900 + 9_000 + 600 + 9_000 + 9_500,
			predicted_written_tokens: 9_000 + 900 + 9_000 + 1_000 + 9_000 + 1_000,
		});
		expect(total.read_difference).toBeCloseTo(27_200 / 19_100 - 1, 9);
		expect(total.written_difference).toBeCloseTo(29_900 / 38_000 - 1, 9);
		expect(total.billed_difference).toBeCloseTo(total.predicted_billed / total.billed - 1, 9);
		expect(within_5_percent).toEqual({ read: 2, written: 2, billed: 2 });
		expect(files.map(({ file, conversations, differences }) => ({ file, conversations, differences }))).toEqual([
			{ file: "exact", conversations: 1, differences: [] },
			{ file: "near", conversations: 1, differences: [difference(9_400, 9_000, "granularity")] },
			{ file: "far", conversations: 1, differences: [difference(500, 9_000, "prompt")] },
		]);
		expect(total.causes.prompt).toMatchObject({ calls: 1, tokens: 8_500 });
		expect(without_forks).toEqual(total);
		expect(without_unexplained).toMatchObject({ conversations: 3, llm_calls: 5, read_tokens: 18_600 });
	});

	it.each<[string, object, boolean]>([
		["an answer", {}, true],
		["an answer of another agent", { isSidechain: true }, false],
		["an answer that Claude Code wrote itself", { message: { ...resumed, content: [] } }, false],
		["a message of the user", { type: "user", message: { role: "user", content: "c" } }, false],
	])("counts %s on a branch that was rewound as a fork or not", (_, change, isFork) => {
		const one = calibration();
		const branch = { ...record("c", "b", 11, 9_000, 1_000), ...change };
		const [first, question] = [record("a", null, 0, 0, 9_000), prompt("b", "a", 10)];
		const rest = [prompt("d", "a", 20), record("e", "d", 21, 9_000, 1_000)];
		one.add({ file: "s.jsonl", conversation: [first, question, branch, ...rest] });
		const { without_forks, files } = one.report();
		expect(files.map(({ has_forks }) => has_forks)).toEqual([isFork]);
		expect(without_forks.conversations).toBe(isFork ? 0 : 1);
	});

	it.each([
		["an answer", { type: "message", role: "assistant", content: [{ type: "output_text", text: "So." }] }, true],
		["a call", { type: "function_call", name: "shell", arguments: "{}", call_id: "x" }, true],
		["an output", { type: "function_call_output", call_id: "x", output: "done" }, false],
	])("counts %s of a turn that Codex rolled back as a fork or not", (_, item, isFork) => {
		const one = calibration();
		const codex = (type: string, payload: object) => ({ timestamp: new Date(start).toISOString(), type, payload });
		const asked = (text: string) => codex("response_item", { type: "message", role: "user", content: [{ text }] });
		const answered = (input_tokens: number, cached_input_tokens: number) => [
			codex("response_item", { type: "message", role: "assistant", content: [{ type: "output_text", text: "Yes." }] }),
			codex("event_msg", {
				type: "token_count",
				info: {
					total_token_usage: { total_tokens: input_tokens },
					last_token_usage: { input_tokens, cached_input_tokens },
				},
			}),
		];
		const rolledBack = codex("event_msg", { type: "thread_rolled_back", num_turns: 1 });
		const conversation = [
			codex("session_meta", { id: "s" }),
			...[asked("One."), ...answered(9_000, 0)],
			...[asked("Two."), codex("response_item", item), rolledBack],
			...[asked("Three."), ...answered(10_000, 9_000)],
		];
		expect(one.add({ file: "c.jsonl", conversation })).toBe("calibrated");
		expect(one.report().files).toMatchObject([{ has_forks: isFork, differences: [] }]);
	});

	it("leaves out sessions without usage or without cached tokens", () => {
		const one = calibration();
		const chat = [{ role: "user", content: "Hi" }];
		expect(one.add({ file: "chat.json", conversation: chat })).toBe("no_usage");
		const uncached = [record("a", null, 0, 0, 9_000), prompt("b", "a", 10), record("c", "b", 11, 0, 10_000)];
		expect(one.add({ file: "s.jsonl", conversation: uncached })).toBe("nothing_cached");
		expect(one.report().total).toMatchObject({ conversations: 0, read_difference: null });
	});

	it.skipIf(!hasRealData)("predicts the reads of recorded sessions without forks within 5 %", () => {
		const one = calibration();
		const formats = ["claude-code", "pi", "codex-rollout", "opencode", "openai"];
		for (const { file, document } of realConversations(formats, everyConversation()))
			one.add({ file, conversation: document });
		const { without_forks, without_unexplained, files, within_5_percent: near } = one.report();
		expect(files.length).toBeGreaterThan(30);
		expect(Math.abs(without_unexplained.billed_difference ?? 1)).toBeLessThan(0.05);
		expect(Math.abs(without_forks.read_difference ?? 1)).toBeLessThan(0.05);
		expect(near.read / files.length).toBeGreaterThan(0.75);
	});
});
