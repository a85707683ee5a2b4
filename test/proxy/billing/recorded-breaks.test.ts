import { describe, expect, it } from "vitest";
import { readConversation } from "../../../src/formats/detect.ts";
import { recordedBreaks } from "../../../src/proxy/billing/recorded-breaks.ts";

type Record_ = Readonly<Record<string, unknown>>;

const start = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(start + seconds * 1_000).toISOString();

interface Call {
	readonly input: number;
	readonly read: number;
	readonly after?: number;
	readonly user?: string;
	readonly model?: string;
	readonly thinks?: boolean;
	readonly before?: readonly Record_[];
	readonly version?: string;
	readonly level?: string;
}

/** A session of Claude Code: calls of tools, each some seconds after the one before, and what their provider read. */
function claudeSession(calls: readonly Call[]) {
	const records: Record_[] = [];
	let time = 0;
	let parent: string | null = null;
	const add = (type: string, message: Record_, more: Record_ = {}) => {
		const uuid = `u${records.length}`;
		records.push({
			type,
			uuid,
			parentUuid: parent,
			sessionId: "s",
			isSidechain: false,
			timestamp: at(time),
			message,
			...more,
		});
		parent = uuid;
	};
	add("user", { role: "user", content: "Find out." });
	for (const [number, call] of calls.entries()) {
		const {
			input,
			read,
			after = 5,
			user,
			model = "claude-opus-4-5",
			before = [],
			version = "2.1.1",
			thinks,
			level,
		} = call;
		time += after;
		if (user !== undefined) add("user", { role: "user", content: user }, level ? { thinkingMetadata: { level } } : {});
		for (const record of before) records.push({ isSidechain: false, timestamp: at(time), ...record });
		const usage = {
			input_tokens: 3,
			cache_read_input_tokens: read,
			cache_creation_input_tokens: input - read - 3,
			output_tokens: 20,
		};
		const block = { type: "tool_use", id: `toolu_${number}`, name: "Bash", input: { command: "ls" } };
		const content = thinks ? [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }, block] : [block];
		add("assistant", { id: `msg_${number}`, type: "message", role: "assistant", model, content, usage }, { version });
		add("user", {
			role: "user",
			content: [{ type: "tool_result", tool_use_id: `toolu_${number}`, content: "a line" }],
		});
	}
	return records;
}

const causes = (records: readonly unknown[]) => {
	const { breaks } = recordedBreaks(readConversation(records), 300);
	return breaks.map(({ call, cause, detail }) => [call, cause, detail]);
};

/** Calls that read all of the one before. */
const growing = (count: number, from = 20_000) =>
	Array.from({ length: count }, (_, call) => ({
		input: from + call * 2_000,
		read: call === 0 ? 8_000 : from + (call - 1) * 2_000 - 3,
	}));

describe("the breaks of a recorded session", () => {
	it("are none where each call reads the one before, or where nothing was ever read", () => {
		expect(recordedBreaks(readConversation(claudeSession(growing(6))), 300)).toEqual({ calls: 6, breaks: [] });
		const unread = growing(6).map((call) => ({ ...call, read: 0 }));
		expect(recordedBreaks(readConversation(claudeSession(unread)), 300)).toEqual({ calls: 0, breaks: [] });
	});

	it.each([
		["pause", { after: 400, user: "Go on." }, "7 min since the call before; the cache lasts 5 min"],
		["model", { model: "claude-sonnet-4-6" }, "claude-opus-4-5 → claude-sonnet-4-6"],
		["restart", { version: "2.1.2" }, "version 2.1.1 → 2.1.2"],
		["unknown", { user: "Go on." }, /^at a message of the user/],
		["unknown", { user: "Go on.", thinks: true }, /^at a message of the user/],
	] as const)("have a cause that the record shows: %s", (cause, change, detail) => {
		const calls = [
			...growing(4),
			{ input: 28_000, read: 8_000, ...change },
			{ input: 30_000, read: 27_997, ...change, after: 5 },
		];
		expect(causes(claudeSession(calls))).toEqual([
			[5, cause, typeof detail === "string" ? detail : expect.stringMatching(detail)],
		]);
	});

	it("are of the resume that Claude Code notes, of a changed effort, and of tools in its snapshots", () => {
		const after = { input: 28_000, read: 8_000, user: "Go on." };
		const resumed = {
			type: "assistant",
			uuid: "x",
			parentUuid: "u8",
			message: { role: "assistant", model: "<synthetic>", content: [{ type: "text", text: "No response requested." }] },
		};
		expect(causes(claudeSession([...growing(4), { ...after, before: [resumed] }]))).toEqual([
			[5, "restart", "the session was resumed"],
		]);
		const [first, ...rest] = growing(4) as [Call, ...Call[]];
		const effort = [{ ...first, user: "Begin.", level: "high" }, ...rest, { ...after, level: "low" }];
		expect(causes(claudeSession(effort))).toEqual([[5, "effort", "effort: high → low"]]);
		const snapshot = (...names: string[]) => ({
			type: "attachment",
			attachment: {
				type: "prompt_snapshot",
				systemPrompt: "You are an agent.",
				tools: names.map((name) => ({ name })),
			},
		});
		const tools = [
			{ ...first, before: [snapshot("Read")] },
			...rest,
			{ ...after, before: [snapshot("Read", "mcp__db__query")] },
		];
		const { breaks } = recordedBreaks(readConversation(claudeSession(tools)), 300);
		expect(breaks).toMatchObject([{ cause: "tools", detail: "tools: +mcp__db__query", servers: ["db"] }]);
	});

	it("have the cause reasoning for models whose API leaves reasoning out", () => {
		const thinking = growing(4).map((call) => ({ ...call, model: "claude-sonnet-4-5", thinks: true }));
		const next = { input: 27_000, read: 8_000, user: "Go on.", model: "claude-sonnet-4-5", thinks: true };
		expect(causes(claudeSession([...thinking, next]))).toEqual([
			[5, "reasoning", "the reasoning of the last turn was left out"],
		]);
	});

	it("are of reasoning where a prompt for OpenAI shrinks as a turn begins", () => {
		const calls = growing(4).map((call) => ({ ...call, model: "gpt-5.5", thinks: true }));
		const next = { input: 25_000, read: 2_000, user: "Go on.", model: "gpt-5.5", thinks: true };
		expect(causes(claudeSession([...calls, next]))).toEqual([
			[5, "reasoning", "at least 1 000 tokens of earlier turns were left out"],
		]);
	});

	it("are of messages that are gone where the prompt shrinks", () => {
		expect(causes(claudeSession([...growing(10), { input: 30_000, read: 8_000, user: "Go on." }]))).toEqual([
			[11, "earlier_message", "at least 8 000 tokens of earlier messages were left out"],
		]);
	});

	it("are the provider's where the program cannot have changed anything, and unknown where it can", () => {
		const calls = growing(12);
		const lost = calls.map((call, index) => (index === 6 ? { ...call, read: 8_000 } : call));
		expect(causes(claudeSession(lost))).toEqual([[7, "provider", expect.stringContaining("the prompt only grew")]]);
		// The next call reads what was there before, not what this one wrote.
		const older = lost.map((call, index) => (index === 7 ? { ...call, read: 29_900 } : call));
		expect(causes(claudeSession(older))).toEqual([[7, "provider", "the next call read the earlier cache again"]]);
		// It happens again and again: the program may change its prompt each time.
		const often = calls.map((call, index) => (index % 2 === 1 ? { ...call, read: 7_000 } : call));
		for (const [, cause] of causes(claudeSession(often))) expect(cause).toBe("unknown");
		// At the end nothing shows that the cache is there.
		const last = calls.map((call, index) => (index === 11 ? { ...call, read: 8_000 } : call));
		expect(causes(claudeSession(last))).toEqual([[12, "unknown", expect.stringMatching(/^in the middle of a turn/)]]);
		// More than the first prompt was read.
		const deep = calls.map((call, index) => (index === 11 ? { ...call, read: 30_000 } : call));
		expect(causes(claudeSession(deep))).toEqual([
			[12, "provider", expect.stringContaining("its tools and system prompt were read")],
		]);
	});

	it("are of a rewind where the file has calls of a branch that was left", () => {
		const usage = { input_tokens: 3, cache_read_input_tokens: 25_997, output_tokens: 20 };
		const message = { role: "assistant", model: "claude-opus-4-5", content: [], usage };
		const left = { type: "assistant", uuid: "x", parentUuid: "u4", sessionId: "s", message };
		const next = { input: 26_500, read: 20_000, user: "Another way.", before: [left] };
		expect(causes(claudeSession([...growing(4), next]))).toEqual([
			[5, "rewind", "calls of another branch came between"],
		]);
	});

	it("have the cause prompt_start if nothing was read at the start of a turn, and the provider keeps its cache within turns", () => {
		const restarted = (count: number) => {
			const calls = growing(count);
			const { input } = calls.at(-1) as { readonly input: number };
			return [...calls, { input: input + 2_000, read: 0, user: "Go on." }];
		};
		expect(causes(claudeSession(restarted(40)))).toEqual([
			[41, "prompt_start", expect.stringContaining("started again")],
		]);
		expect(causes(claudeSession(restarted(10)))).toEqual([[11, "unknown", expect.stringMatching(/^at a message/)]]);
		const kinds = (calls: readonly Call[]) => causes(claudeSession(calls)).map(([call, cause]) => [call, cause]);
		const lossy = restarted(40).map((call, index) => (index === 20 ? { ...call, read: 0 } : call));
		expect(kinds(lossy)).toEqual([
			[21, "provider"],
			[41, "unknown"],
		]);
		// The tools and the system prompt were read: something behind them changed.
		const kept = restarted(40).map((call, index) => (index === 40 ? { ...call, read: 15_000 } : call));
		expect(kinds(kept)).toEqual([[41, "unknown"]]);
	});

	it("cost the price of the tokens less the price of reading them, where the model's price is known", () => {
		const broken = (model: string) =>
			recordedBreaks(
				readConversation(
					claudeSession([
						...growing(4).map((call) => ({ ...call, model })),
						{ input: 28_000, read: 8_000, after: 400, model },
					]),
				),
				300,
			).breaks[0];
		// Claude Opus 4.5: 5 US dollars a million tokens.
		expect(broken("claude-opus-4-5")).toMatchObject({ tokens: 18_000, usd: expect.closeTo(0.018 * 5 * 1.15, 6) });
		expect(broken("claude-of-a-house-7")?.tokens).toBe(18_000);
		expect(broken("some-claude")?.usd).toBeUndefined();
		// This session is of January, when a read cost 0.1; since October it costs 0.05.
		expect(broken("claude-sonnet-5-5")).toMatchObject({ usd: expect.closeTo(0.018 * 2 * 1.15, 6) });
		// Claude Haiku 5.5 costs five times as much over 100 000 tokens.
		const large = growing(3, 98_000).map((call) => ({ ...call, model: "claude-haiku-5-5" }));
		const { breaks } = recordedBreaks(
			readConversation(
				claudeSession([...large, { input: 104_000, read: 2_000, after: 400, model: "claude-haiku-5-5" }]),
			),
			300,
		);
		expect(breaks).toMatchObject([{ tokens: 100_000, usd: expect.closeTo(0.1 * 0.1 * 1.15 * 5, 6) }]);
	});
});
