import { describe, expect, it } from "vitest";
import type { CallTarget } from "../../src/engine/masking/targets.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { reportContext, targetText } from "../../src/operations/report.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user, writeMessages } from "../support/script.ts";

const record = (uuid: string, parentUuid: string | null, role: string, content: unknown, more = {}) => ({
	...{ type: role, uuid, parentUuid, sessionId: "s", message: { role, content } },
	...more,
});

const turn = (name: string, parent: string, lines = 40) => [
	record(`a-${name}`, parent, "assistant", [{ type: "tool_use", id: name, name: "Bash", input: {} }]),
	record(`r-${name}`, `a-${name}`, "user", [
		{ type: "tool_result", tool_use_id: name, content: outputOf(name, lines) },
	]),
];

/** A session that was compacted after two turns, and went on for three. */
const session = [
	record("u0", null, "user", "Go."),
	...turn("a", "u0", 90),
	...turn("b", "r-a"),
	{ type: "system", subtype: "compact_boundary", uuid: "c", parentUuid: null, logicalParentUuid: "r-b" },
	record("s", "c", "user", "So far: listings.", { isCompactSummary: true }),
	...turn("d", "s", 50),
	...turn("e", "r-d", 40),
	...turn("f", "r-e", 30),
];

describe("a report on a session that was compacted", () => {
	it("counts only messages that are still sent", async () => {
		const { messages, tool_turns, by_role, by_tool, biggest_results, tokens } = await reportContext({
			conversation: session,
			layers: [],
		});
		expect([messages, tool_turns]).toEqual([7, 3]);
		expect(by_role.map(({ role, messages: count }) => [role, count])).toEqual([
			["tool", 3],
			["assistant", 3],
			["user", 1],
		]);
		expect(by_role.reduce((sum, one) => sum + one.tokens, 0)).toBe(tokens);
		expect(by_tool).toMatchObject([{ tool: "Bash", results: 3 }]);
		expect(biggest_results.map(({ call_id, age_turns }) => [call_id, age_turns])).toEqual([
			["d", 2],
			["e", 1],
			["f", 0],
		]);
	});

	it("says that the system prompt and the tools are not in the record, and how large they are by the usage", async () => {
		const { by_part, unrecorded_tokens: without } = await reportContext({ conversation: session, layers: [] });
		const absent = by_part.filter(({ tokens }) => tokens === null).map(({ part }) => part);
		expect([absent, without]).toEqual([["system_prompt", "tools"], null]);
		const usage = {
			input_tokens: 7,
			cache_read_input_tokens: 11_000,
			cache_creation_input_tokens: 7_000,
			output_tokens: 9,
		};
		const content = [{ type: "text", text: "Done." }];
		const answered = { message: { role: "assistant", model: "claude-opus-5-5", id: "m", content, usage } };
		const conversation = [record("u", null, "user", "word ".repeat(500)), record("a", "u", "assistant", [], answered)];
		const { unrecorded_tokens: told, tokens } = await reportContext({ conversation, layers: [], model: "gpt-4o" });
		expect(told).toBeGreaterThan(18_007 - tokens - 1);
		expect(told).toBeLessThan(18_007 - 490);
	});

	it("counts only results that are sent among those that a preset masks", async () => {
		const names = Array.from({ length: 12 }, (_, at) => `n${at}`);
		const before = names.flatMap((name, at) => turn(name, at === 0 ? "u0" : `r-n${at - 1}`));
		const after = names.flatMap((name, at) => turn(`${name}-later`, at === 0 ? "s" : `r-n${at - 1}-later`));
		const boundary = { ...{ type: "system", subtype: "compact_boundary", uuid: "c", parentUuid: null } };
		const conversation = [
			record("u0", null, "user", "Go."),
			...before,
			{ ...boundary, logicalParentUuid: "r-n11" },
			record("s", "c", "user", "So far: listings.", { isCompactSummary: true }),
			...after,
		];
		const { presets } = await reportContext({ conversation, layers: [] });
		expect(presets.find(({ preset }) => preset === "observation-masking")?.masked).toBe(4);
	});
});

describe("a guard on a session that was compacted", () => {
	it("counts only the messages that are still sent", async () => {
		const policy = policyOf({ guard: { max_messages: 8 } });
		const { report } = await guardConversation({ conversation: session, policy, contextWindow: 1_000_000 });
		expect(report.max_messages).toEqual({ limit: 8, messages: 7, reached: false });
	});
});

describe("a report on the originals", () => {
	it("counts shorter placeholders where nothing is archived", async () => {
		const conversation = openaiMessages(
			user("Go."),
			...Array.from({ length: 20 }, (_, at) => toolTurn(`c${at}`, outputOf(`${at}`))),
		);
		const observed = async (originals: "archived" | "not_archived") => {
			const { presets } = await reportContext({ conversation, layers: [], originals });
			return presets.find(({ preset }) => preset === "observation-masking");
		};
		const [archived, gone] = [await observed("archived"), await observed("not_archived")];
		expect(archived?.masked).toBe(12);
		expect(gone?.masked).toBe(12);
		expect((archived?.tokens_after ?? 0) - (gone?.tokens_after ?? 0)).toBeGreaterThan(12 * 4);
		expect(archived?.fits).toBeNull();
		const byDefault = await reportContext({ conversation, layers: [] });
		expect(byDefault.presets.find(({ preset }) => preset === "observation-masking")).toEqual(archived);
	});

	it("writes references into a template of the policy only where originals are archived", async () => {
		const conversation = openaiMessages(
			user("Go."),
			...Array.from({ length: 20 }, (_, at) => toolTurn(`c${at}`, outputOf(`${at}`))),
		);
		const layers = [{ mask: { placeholder_template: "[gone, see {ref}]" } }];
		const tokensAfter = async (originals: "archived" | "not_archived") => {
			const { presets } = await reportContext({ conversation, layers, originals });
			return presets.find(({ preset }) => preset === "observation-masking")?.tokens_after ?? 0;
		};
		expect(await tokensAfter("archived")).toBeGreaterThan(await tokensAfter("not_archived"));
	});

	it("lists the later one of two equal results first, and ten of eleven", async () => {
		const conversation = openaiMessages(
			user("Go."),
			...Array.from({ length: 11 }, (_, at) => toolTurn(`c${at}`, "x y z")),
		);
		const { biggest_results, by_tool } = await reportContext({ conversation, layers: [] });
		expect(biggest_results.map(({ call_id }) => call_id)).toEqual(Array.from({ length: 10 }, (_, at) => `c${10 - at}`));
		expect(by_tool).toEqual([{ tool: "read_file", tokens: 33, results: 11 }]);
		const nameless = [{ role: "tool", tool_call_id: "lost", content: "x y z" }];
		const orphan = await reportContext({ conversation: [...conversation, ...nameless], layers: [] });
		expect(orphan.by_tool[1]).toEqual({ tool: null, tokens: 3, results: 1 });
		expect(orphan.biggest_results[0]).toMatchObject({ tool: null, call_id: "lost", target: null, message: 23 });
	});
});

describe("a result", () => {
	const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
	const look = (id: string, content: unknown) => writeMessages("anthropic-messages", toolTurn(id, content, "look"));

	it("counts with its images, which presets mask with it", async () => {
		const withImages = (images: unknown[]) => [
			{ role: "user", content: "Go." },
			...look("first", [{ type: "text", text: outputOf("first", 3) }, ...images]),
			...Array.from({ length: 9 }, (_, at) => look(`c${at}`, "x y z")).flat(),
		];
		const [plain, seen] = await Promise.all(
			[[], [image]].map((images) => reportContext({ conversation: withImages(images), layers: [{ media: "mask" }] })),
		);
		const ofImage = (seen?.tokens ?? 0) - (plain?.tokens ?? 0);
		expect(ofImage).toBeGreaterThan(500);
		expect(seen?.by_tool[0]?.tokens).toBe((plain?.by_tool[0]?.tokens ?? 0) + ofImage);
		expect(seen?.biggest_results[0]).toMatchObject({ call_id: "first", tokens: (seen?.by_tool[0]?.tokens ?? 0) - 27 });
		const freed = (report: typeof seen) =>
			report?.presets.find(({ preset }) => preset === "observation-masking")?.freed_tokens ?? 0;
		expect(freed(seen) - freed(plain)).toBeGreaterThan(ofImage - 100);
	});

	it.each([
		[3, true],
		[4, false],
	])("is one of %s that hold a string; that an answer with it used it is %s", async (holders, isUsed) => {
		const conversation = openaiMessages(
			user("Go."),
			...Array.from({ length: holders }, (_, at) => toolTurn(`c${at}`, `${at} in src/unusual_place.ts`)),
			assistant("The mistake is in src/unusual_place.ts."),
		);
		const { biggest_results } = await reportContext({ conversation, layers: [] });
		expect(biggest_results.map(({ used_since }) => used_since)).toEqual(Array(holders).fill(isUsed));
	});
});

describe("the target of a call", () => {
	const nothing: CallTarget = { kind: "read", paths: [] };

	it("is its files, else its command, on one line of at most 120 characters", () => {
		expect(targetText(undefined)).toBeNull();
		expect(targetText({ ...nothing, command: "npm test" })).toBe("npm test");
		expect(targetText({ ...nothing, command: " a\n\tb \u001b " })).toBe("a b");
		expect(targetText({ ...nothing, paths: ["b", "a"], command: "npm" })).toBe("b, a");
		expect(targetText({ ...nothing, paths: ["x".repeat(120)] })).toBe("x".repeat(120));
		expect(targetText({ ...nothing, paths: [`y${"x".repeat(120)}`] })).toBe(`…${"x".repeat(119)}`);
		expect(targetText({ ...nothing, paths: ["\ud800"] })).toBe("\ufffd");
		expect(targetText({ ...nothing, command: `y${"x".repeat(120)}` })).toBe(`y${"x".repeat(118)}…`);
		const split = `y\ud83d\ude00${"x".repeat(118)}`;
		expect(targetText({ ...nothing, paths: [split] })).toBe(`…\ufffd${"x".repeat(118)}`);
	});
});

it("a report counts the lines of results that an earlier result in the window has too", async () => {
	const tokensOf = async (...outputs: string[]) => {
		const turns = outputs.flatMap((output, index) => toolTurn(`t${index}`, output));
		const report = await reportContext({ conversation: openaiMessages(user("Go."), turns), layers: [] });
		return report.repeated_tokens;
	};
	const listing = outputOf("listing", 60);
	expect(await tokensOf(listing, outputOf("other", 60))).toBe(0);
	const twice = await tokensOf(listing, listing);
	expect(twice).toBeGreaterThan(500);
	expect(await tokensOf(listing, `A line of its own.\n${listing}`, outputOf("other"))).toBe(twice);
	expect(await tokensOf(listing, listing, listing)).toBe(2 * twice);
});
