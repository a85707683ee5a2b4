import { describe, expect, it } from "vitest";
import { listPrunable, pruneConversation } from "../../src/operations/prune.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation } from "../../src/storage/restore/restore.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const policy = policyOf({ preset: "balanced" });
const call = (id: string, name: string, path: string) => ({
	role: "assistant",
	content: null,
	tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify({ path }) } }],
});
const result = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content });
const conversation = [
	{ role: "user", content: "Look." },
	call("a", "read_file", "a.ts"),
	result("a", outputOf("a", 80)),
	call("b", "list_files", "src"),
	result("b", outputOf("b", 200)),
	call("c", "read_file", "a.ts"),
	result("c", outputOf("a", 80)),
	call("d", "read_file", "tiny.ts"),
	result("d", "ok"),
];

describe("listPrunable", () => {
	it("lists the removable results, the largest first, with their price", async () => {
		const results = await listPrunable({ conversation, policy });
		expect(results.map(({ tool, target, age_turns, stale }) => [tool, target, age_turns, stale])).toEqual([
			["list_files", "src", 2, false],
			["read_file", "a.ts", 3, true],
			["read_file", "a.ts", 1, false],
		]);
		const [list, first, second] = results;
		expect(list?.frees).toBeGreaterThan(2 * (first?.frees ?? 0));
		expect(first?.rewrites).toBeGreaterThan(list?.rewrites ?? 0);
		expect(second?.rewrites).toBeLessThan(100);
		for (const { calls_to_break_even: calls } of results) expect(calls).toBeGreaterThanOrEqual(1);
	});
});

describe("pruneConversation", () => {
	it("masks the chosen results and no others", async () => {
		const results = await listPrunable({ conversation, policy });
		const places = results.slice(0, 2).map(({ place }) => place);
		const { conversation: pruned, report, edits } = await pruneConversation({ conversation, policy, places });
		const changed = (pruned as typeof conversation).flatMap((message, index) =>
			message === conversation[index] ? [] : [index],
		);
		expect(changed).toEqual([2, 4]);
		expect(edits).toHaveLength(2);
		expect(report).toMatchObject({ masked_tool_results: 2, dropped_messages: 0 });
		const freed = results.slice(0, 2).reduce((sum, { frees }) => sum + frees, 0);
		expect(report.tokens.before - report.tokens.after).toBe(freed);
		expect(report.economics.first_changed_message).toBe(2);
	});

	it("lists and masks results of calls without a name, results without a call, and errors", async () => {
		const nameless = { id: "n", type: "function", function: { arguments: "{}" } };
		const long = (text: string) => `Error: ${outputOf(text, 60)}`;
		const given = [
			...[
				{ role: "user", content: "Look." },
				{ role: "assistant", content: null, tool_calls: [nameless] },
			],
			...[result("n", long("n")), result("lost", outputOf("lost", 50)), { role: "user", content: "More." }],
		];
		const results = await listPrunable({ conversation: given, policy });
		expect(results.map(({ place, tool, target, age_turns }) => [place, tool, target, age_turns])).toEqual([
			[0, null, null, 0],
			[1, null, null, 0],
		]);
		const { edits, report } = await pruneConversation({ conversation: given, policy, places: [0, 1, 7] });
		expect(edits.map(({ path }) => path)).toEqual(["/2/content", "/3/content"]);
		expect(report.economics.first_changed_message).toBe(2);
		const none = await pruneConversation({ conversation: given, policy, places: [] });
		expect(none.conversation).toBe(given);
	});

	it("lists and masks results of pictures alone, and pictures with the text beside them", async () => {
		const picture = {
			type: "image",
			source: { type: "base64", media_type: "image/png", data: pngOf(1_200, 900, 800) },
		};
		const snapshot = outputOf("snapshot", 80);
		const use = (id: string) => ({
			role: "assistant",
			content: [{ type: "tool_use", id, name: "screenshot", input: {} }],
		});
		const shown = (id: string, content: unknown) => ({
			role: "user",
			content: [{ type: "tool_result", tool_use_id: id, content }],
		});
		const given = [
			{ role: "user", content: "Look." },
			...[use("a"), shown("a", [picture]), use("b"), shown("b", [{ type: "text", text: snapshot }, picture])],
			...[use("c"), shown("c", [{ type: "tool_reference", tool_name: "Late" }])],
		];
		const results = await listPrunable({ conversation: given, policy });
		expect(results.map(({ place }) => place)).toEqual([1, 0]);
		expect((results[0]?.frees ?? 0) - (results[1]?.frees ?? 0)).toBeGreaterThan(500);
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const { conversation: pruned, error } = await pruneConversation({
			...{ conversation: given, policy, archive },
			places: [0, 1, 2],
		});
		expect(error).toBeUndefined();
		const text = JSON.stringify(pruned);
		expect([text.includes("iVBORw0KGgo"), text.includes("snapshot line 1"), text.includes("Late")]).toEqual([
			false,
			false,
			true,
		]);
		expect(text.length).toBeLessThan(1_500);
		const back = await restoreConversation({ conversation: pruned, archive, policy: policyOf() });
		expect(back.conversation).toEqual(given);
	});
});
