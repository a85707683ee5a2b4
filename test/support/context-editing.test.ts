import { describe, expect, it } from "vitest";
import { applyContextManagement, contextManagementBeta, refusalOfContextManagement } from "./context-editing.ts";

const turn = (number: number, name = "Bash") => [
	{ role: "assistant", content: [{ type: "tool_use", id: `t${number}`, name, input: { command: `cat ${number}` } }] },
	{
		role: "user",
		content: [{ type: "tool_result", tool_use_id: `t${number}`, content: `output ${number} `.repeat(50) }],
	},
];

const requestOf = (turns: number, edit: object, others: readonly object[] = []) => ({
	model: "claude-opus-5-5",
	messages: [{ role: "user", content: "Go." }, ...Array.from({ length: turns }, (_, number) => turn(number)).flat()],
	context_management: { edits: [...others, { type: "clear_tool_uses_20250919", ...edit }] },
});

const clearedIn = (body: object) =>
	[
		...JSON.stringify(applyContextManagement(body as never)?.body ?? {}).matchAll(
			/"tool_use_id":"(t\d)","content":"\[cleared\]"/g,
		),
	].map(([, id]) => id);

const keeping = (keep: number) => ({
	trigger: { type: "tool_uses", value: 1 },
	keep: { type: "tool_uses", value: keep },
});
const thinking = { type: "clear_thinking_20251015", keep: "all" };

describe("the stand-in's clearing of tool results", () => {
	it("computes the cleared results for each request, so that a fixed `keep` slides", () => {
		expect(clearedIn(requestOf(5, keeping(3)))).toEqual(["t0", "t1"]);
		expect(clearedIn(requestOf(6, keeping(3)))).toEqual(["t0", "t1", "t2"]);
		expect(clearedIn(requestOf(6, keeping(4)))).toEqual(["t0", "t1"]);
	});

	it("clears nothing below the trigger, of excluded tools, or where it is too little", () => {
		expect(clearedIn(requestOf(5, { keep: { type: "tool_uses", value: 1 } }))).toEqual([]);
		expect(clearedIn(requestOf(5, { trigger: { type: "tool_uses", value: 5 } }))).toEqual([]);
		expect(clearedIn(requestOf(5, { ...keeping(1), exclude_tools: ["Bash"] }))).toEqual([]);
		const dear = { type: "input_tokens", value: 100_000 };
		expect(clearedIn(requestOf(5, { ...keeping(1), clear_at_least: dear }))).toEqual([]);
	});

	it("reports the cleared uses and tokens, and the tokens of the whole request", () => {
		const body = requestOf(5, keeping(3));
		const edited = applyContextManagement(body);
		const [applied] = edited?.applied ?? [];
		expect(applied).toMatchObject({ type: "clear_tool_uses_20250919", cleared_tool_uses: 2 });
		expect(applied?.cleared_input_tokens).toBeGreaterThan(200);
		expect(edited?.original).toBeGreaterThan(applied?.cleared_input_tokens ?? 0);
		expect(applyContextManagement({ messages: [] })).toBeUndefined();
	});

	it.each([
		["a request without the header", requestOf(2, {}), [], "Extra inputs are not permitted"],
		["an unknown field", requestOf(2, { keeps: 1 }), [contextManagementBeta], "keeps: Extra inputs"],
		[
			"a `keep` of tokens",
			requestOf(2, { keep: { type: "input_tokens", value: 1 } }),
			[contextManagementBeta],
			"keep.type",
		],
		["half a tool use", requestOf(2, { keep: { type: "tool_uses", value: 0.5 } }), [contextManagementBeta], "integer"],
		["tools that are no list", requestOf(2, { exclude_tools: "Bash" }), [contextManagementBeta], "exclude_tools"],
		[
			"an edit of an unknown type",
			requestOf(2, {}, [{ type: "clear_all" }]),
			[contextManagementBeta],
			"Input tag 'clear_all'",
		],
		[
			"two edits of a type",
			requestOf(2, {}, [{ type: "clear_tool_uses_20250919" }]),
			[contextManagementBeta],
			"at most once",
		],
	])("refuses %s", (_, body, betas, words) => {
		expect(refusalOfContextManagement(body, betas)).toContain(words);
	});

	it("takes the clearing of thinking first and refuses it behind another edit", () => {
		expect(refusalOfContextManagement(requestOf(2, keeping(1), [thinking]), [contextManagementBeta])).toBeUndefined();
		const { context_management: management, ...rest } = requestOf(2, keeping(1), [thinking]);
		const turned = { ...rest, context_management: { edits: management.edits.toReversed() } };
		expect(refusalOfContextManagement(turned, [contextManagementBeta])).toContain("must be the first edit");
	});
});
