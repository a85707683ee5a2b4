import { describe, expect, it } from "vitest";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { clearablePlaces, clearingFor, contextManagement, mayClear } from "../../../src/proxy/sending/clearing.ts";
import type { ResultState } from "../../../src/proxy/sending/states.ts";
import { refusalOfContextManagement } from "../../support/context-editing.ts";
import { policyOf } from "../../support/policy-of.ts";

const turn = (id: string, name: string) => [
	{ role: "assistant", content: [{ type: "tool_use", id, name, input: {} }] },
	{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: `output of ${id}` }] },
];

const bodyOf = (tools: readonly string[], more: object = {}) => ({
	model: "claude-opus-5-5",
	system: "You are an agent.",
	messages: [{ role: "user", content: "Go." }, ...tools.flatMap((name, number) => turn(`toolu_${number}`, name))],
	...more,
});

const cleared: ResultState = { kind: "cleared", since: 1, at: 1, changed: 1, values: new Map() };

/** The field for a body in which the results at these places are cleared. */
function fieldOf(body: object, places: readonly number[], kind: ResultState["kind"] = "cleared") {
	const paired = pairResults(readConversation(body).transcript);
	return contextManagement(body, paired, (place) => (places.includes(place) ? { ...cleared, kind } : undefined));
}

const editOf = (keep: number, more: object = {}) => ({
	type: "clear_tool_uses_20250919",
	trigger: { type: "tool_uses", value: keep },
	keep: { type: "tool_uses", value: keep },
	...more,
});

describe("the field that has the provider clear results", () => {
	it("keeps the tool uses after the last cleared one, also when more come", () => {
		const tools = ["Bash", "Bash", "Read", "Bash"];
		expect(fieldOf(bodyOf(tools), [0, 1])).toEqual({ edits: [editOf(2)] });
		expect(fieldOf(bodyOf([...tools, "Bash", "Read"]), [0, 1])).toEqual({ edits: [editOf(4)] });
		expect(fieldOf(bodyOf(tools), [])).toBeUndefined();
		expect(fieldOf(bodyOf(tools), [0, 1], "masked")).toBeUndefined();
	});

	it("excludes the tools of results that stay before the last cleared one", () => {
		const body = bodyOf(["Bash", "AskUserQuestion", "Bash", "Read", "Read"]);
		expect(fieldOf(body, [0, 2])).toEqual({ edits: [editOf(2, { exclude_tools: ["AskUserQuestion"] })] });
		// A tool of which a result was sent cleared is never excluded again.
		expect(fieldOf(body, [0, 3])).toEqual({ edits: [editOf(1, { exclude_tools: ["AskUserQuestion"] })] });
	});

	it("comes after the caller's own edits, keeps their other fields, and the API accepts it", () => {
		const thinking = { type: "clear_thinking_20251015", keep: "all" };
		const body = bodyOf(["Bash", "Bash", "Bash"], { context_management: { edits: [thinking] } });
		const field = fieldOf(body, [0]);
		expect(field).toEqual({ edits: [thinking, editOf(2)] });
		const sent = { ...body, context_management: field };
		expect(refusalOfContextManagement(sent, ["context-management-2025-06-27"])).toBeUndefined();
	});

	it("counts the uses of tools that the provider runs, so that it never clears more than was meant", () => {
		const body = bodyOf(["Bash", "Bash"]);
		const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
		body.messages.push({ role: "assistant", content: [search as never] });
		expect(fieldOf(body, [0])).toEqual({ edits: [editOf(2)] });
	});

	describe("results that load tools", () => {
		const reference = [{ type: "tool_reference", tool_name: "mcp__db__query" }];
		const loading = (content: unknown, tools: readonly string[] = ["ToolSearch", "ToolSearch", "Bash", "Bash"]) => {
			const body = bodyOf(tools);
			Object.assign((body.messages[2] as { content: object[] }).content[0] as object, { content });
			return body;
		};

		it("are never cleared, nor is another result of their tool", () => {
			for (const content of [reference, [{ type: "text", text: "1 tool" }, ...reference]]) {
				const body = loading(content);
				expect(clearablePlaces(body, pairResults(readConversation(body).transcript))).toEqual([2, 3]);
				const excluding = editOf(1, { exclude_tools: ["ToolSearch"] });
				expect(fieldOf(body, [2])).toEqual({ edits: [excluding] });
				// Even where one without a reference was cleared before.
				expect(fieldOf(body, [1, 2])).toEqual({ edits: [excluding] });
			}
			expect(fieldOf(loading("No tool was found."), [0, 2])).toEqual({ edits: [editOf(1)] });
		});

		it("of the provider's own search are not cleared either", () => {
			const body = bodyOf(["Bash", "Bash"]);
			const id = "srvtoolu_1";
			const result = { type: "tool_search_tool_search_result", tool_references: reference };
			const blocks = [
				{ type: "server_tool_use", id, name: "tool_search_tool_regex", input: { query: "db" } },
				{ type: "tool_search_tool_result", tool_use_id: id, content: result },
			];
			body.messages.splice(1, 0, { role: "assistant", content: blocks as never });
			expect(fieldOf(body, [0])).toEqual({ edits: [editOf(1, { exclude_tools: ["tool_search_tool_regex"] })] });
		});
	});

	it("finds the results in the order of their calls", () => {
		const body = bodyOf([]);
		const call = (id: string) => ({ type: "tool_use", id, name: "Bash", input: {} });
		const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: id });
		body.messages.push(
			{ role: "assistant", content: [call("a"), call("b"), call("c")] } as never,
			{ role: "user", content: [result("c"), result("a"), result("b")] } as never,
		);
		expect(clearablePlaces(body, pairResults(readConversation(body).transcript))).toEqual([1, 2, 0]);
	});
});

describe("whether the provider clears", () => {
	const policy = policyOf({ preset: "balanced", mask: { by: "provider" } });
	const asked = { refusesClearing: false };
	const request = (edits: readonly object[]) => ({ body: { context_management: { edits } }, takesBetas: true });

	it("is off without the policy and for other APIs", () => {
		expect(clearingFor(request([]), policyOf({ preset: "balanced" }), asked)).toBe("off");
		expect(clearingFor({ body: {}, takesBetas: false }, policy, asked)).toBe("off");
		expect(clearingFor({ body: {} }, policy, asked)).toBe("off");
	});

	it("is on but where the caller clears itself or the provider has refused", () => {
		expect(clearingFor({ body: {}, takesBetas: true }, policy, asked)).toBe("on");
		expect(clearingFor(request([{ type: "clear_thinking_20251015" }]), policy, asked)).toBe("on");
		expect(clearingFor(request([{ type: "clear_tool_uses_20250919" }]), policy, asked)).toBe("refused");
		expect(clearingFor(request([{ type: "compact_20260112" }]), policy, asked)).toBe("refused");
		const asksForSummary = { body: { compaction: { type: "summarize" } }, takesBetas: true };
		expect(clearingFor(asksForSummary, policy, asked)).toBe("refused");
		expect(clearingFor({ body: { compaction: null }, takesBetas: true }, policy, asked)).toBe("on");
		expect(clearingFor(request([]), policy, { refusesClearing: true })).toBe("refused");
		expect(mayClear(request([]), { refusesClearing: true })).toBe(false);
	});
});
