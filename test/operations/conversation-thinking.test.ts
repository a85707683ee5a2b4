import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

type Setting = "keep" | "strip_after_edit" | "refuse";

const policyWith = (thinking: Setting) => policyOf({ thinking, mask: { window_turns: 1 } });

const signed = { type: "thinking", thinking: "Hm.", signature: "c2ln" };

const turn = (index: number, ...before: unknown[]) => [
	{ role: "assistant", content: [...before, { type: "tool_use", id: `c${index}`, name: "look", input: {} }] },
	{ role: "user", content: [{ type: "tool_result", tool_use_id: `c${index}`, content: outputOf(`${index}`) }] },
];

/** All but the last result are masked, and each turn but the first has bound reasoning behind an edit. */
const conversationOf = (turns: number) => [
	{ role: "user", content: "Go." },
	...Array.from({ length: turns }, (_, index) => turn(index, signed)).flat(),
];

const masked = (conversation: unknown, thinking: Setting) =>
	maskConversation({ conversation, policy: policyWith(thinking) });

describe("reasoning after an edit", () => {
	it("is counted with the places of the first 20, and advice on a provider that refuses it", async () => {
		const { report, error } = await masked(conversationOf(24), "keep");
		expect(error).toBeUndefined();
		expect(report.thinking).toEqual({
			count: 23,
			paths: Array.from({ length: 20 }, (_, index) => `/${2 * index + 3}/content/0`),
			stripped: 0,
			left: [],
			advice: expect.stringMatching(/status 400: set thinking = "auto" or "strip_after_edit" in the policy, or have/),
		});
		expect(report.thinking?.advice).toContain("drop_block");
	});

	it("does not include reasoning that was written after the edit was first made", async () => {
		const short = [1, 2, 3, 4].flatMap((index) => [
			{ role: "assistant", content: [signed, { type: "tool_use", id: `c${index}`, name: "look", input: {} }] },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: `c${index}`, content: "x" }] },
		]);
		const { report } = await masked([...conversationOf(1), ...short], "keep");
		expect(report.masked_tool_results).toBe(1);
		expect(report.thinking).toMatchObject({ count: 1, paths: ["/3/content/0"] });
	});

	it("is taken out if the policy says so", async () => {
		const { report, conversation } = await masked(conversationOf(3), "strip_after_edit");
		const paths = ["/3/content/0", "/5/content/0"];
		expect(report.thinking).toEqual({ count: 2, paths, stripped: 2, left: [], advice: "They were taken out." });
		expect(JSON.stringify(conversation).split(signed.signature)).toHaveLength(2);
	});

	it("is counted where it stays, as the only content of its message", async () => {
		const alone = Array.from({ length: 22 }, () => [
			{ role: "assistant", content: [signed] },
			{ role: "user", content: "Go on." },
		]).flat();
		const conversation = [...conversationOf(1), ...alone, ...turn(1, signed)];
		const { report } = await masked(conversation, "strip_after_edit");
		expect(report.thinking).toMatchObject({ count: 23, stripped: 1 });
		expect(report.thinking?.left).toEqual(Array.from({ length: 20 }, (_, index) => `/${2 * index + 3}/content/0`));
		expect(report.thinking?.advice).toMatch(/^22 of them stayed.*drop_block/);
	});

	it("is refused if the policy says so, and only where it is", async () => {
		const conversation = conversationOf(2);
		await expect(masked(conversation, "refuse")).rejects.toMatchObject({ code: "thinking_bound" });
		const plain = [{ role: "user", content: "Go." }, ...turn(0), ...turn(1)];
		const { report } = await masked(plain, "refuse");
		expect(report).toMatchObject({ changed: true, masked_tool_results: 1 });
		expect(report).not.toHaveProperty("thinking");
	});
});

describe("the seconds since the last call", () => {
	const conversation = conversationOf(1);
	const policy = policyWith("keep");

	it.each([0, 0.5, undefined])("may be %s", async (idleSeconds) => {
		const { error } = await maskConversation({ conversation, policy, idleSeconds });
		expect(error).toBeUndefined();
	});

	it.each([-1, Number.NaN, "5", null])("may not be %s", async (idleSeconds) => {
		const request = maskConversation({ conversation, policy, idleSeconds: idleSeconds as number });
		await expect(request).rejects.toMatchObject({ code: "invalid_argument" });
	});

	it("are quoted up to 20 characters", async () => {
		const request = maskConversation({ conversation, policy, idleSeconds: "x".repeat(30) as never });
		await expect(request).rejects.toThrow(`got ${"x".repeat(20)}.`);
	});
});
