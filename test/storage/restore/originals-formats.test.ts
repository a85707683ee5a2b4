import { describe, expect, it } from "vitest";
import { valueAt } from "../../../src/engine/conversation/paths.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { compactConversation } from "../../../src/operations/compact.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { rows } from "../../formats/all-rows.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { assistant, calls, results, toolTurn, user } from "../../support/script.ts";

const open = async () => (await openArchive({ where: "memory" })) as Archive;

/** Two calls in one message, and the words of a person between the turns. */
const script = [
	user("Go."),
	...toolTurn("a", outputOf("a")),
	calls({ id: "b", name: "read_file" }, { id: "c", name: "list_files" }),
	results({ id: "b", content: outputOf("b") }, { id: "c", content: outputOf("c") }),
	assistant("I go on."),
	user("Yes, please."),
	...toolTurn("d", outputOf("d")),
	...toolTurn("e", outputOf("e")),
];

describe.each(rows.map((row) => [row.format.name, row] as const))("the originals of %s", (_, row) => {
	const conversation = row.write(script);
	const { transcript } = readConversation(conversation);
	const jsonOf = (messages: readonly number[]) =>
		messages.flatMap((index) => transcript.messages[index]?.paths.map((path) => valueAt(conversation, path)) ?? []);

	async function checkGroups(archive: Archive, groups: readonly { ref: string; messages: readonly number[] }[]) {
		for (const { ref, messages } of groups) {
			const { text, kind } = await archive.get(ref);
			expect(kind).toBe("group");
			expect(JSON.parse(text)).toEqual(jsonOf(messages));
		}
	}

	it("of masked results come back", async () => {
		const archive = await open();
		const policy = policyOf({ mask: { window_turns: 1 } });
		const { conversation: masked, report } = await maskConversation({ conversation, policy, archive });
		expect(report.masked_tool_results).toBe(4);
		const back = await restoreConversation({ conversation: masked, archive, policy });
		expect(back.conversation).toEqual(conversation);
		expect(back.report).toMatchObject({ restored: 4, missing: [], ambiguous: [], without_reference: [] });
	});

	it("of dropped groups are archived, and found by each of their calls", async () => {
		const archive = await open();
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const { report, error } = await guardConversation({ conversation, policy, archive, contextWindow: 1_500 });
		expect(error).toBeUndefined();
		const groups = report.dropped_groups ?? [];
		expect(groups.length).toBeGreaterThan(0);
		await checkGroups(archive, groups);
		const gone = new Set(groups.flatMap(({ messages }) => messages));
		for (const { calls: made } of transcript.messages.filter((_message, index) => gone.has(index))) {
			for (const { id } of made) {
				if (id !== undefined) expect((await archive.find(id)).map(({ kind }) => kind)).toContain("group");
			}
		}
	});

	it("as records that a strategy of the user leaves out is archived with all of their messages", async () => {
		const archive = await open();
		const { located } = readConversation(conversation);
		const depth = located.base.length;
		const recordOf = (index: number) => Number(transcript.messages[index]?.paths[0]?.[depth]);
		const kept = recordOf(transcript.messages.findIndex(({ counted }) => counted.includes("Yes, please.")));
		const { report } = await compactConversation({
			conversation,
			policy: policyOf({ guard: { pin_task: false } }),
			strategy: {
				kind: "external",
				name: "own",
				strategy: { compact: ({ history }) => history.filter((_record, index) => index === 0 || index >= kept) },
			},
			answer: { kind: "none" },
			force: true,
			archive,
		});
		const groups = report.dropped_groups ?? [];
		await checkGroups(archive, groups);
		const places = transcript.messages.map((_message, index) => recordOf(index));
		expect(groups.flatMap(({ messages }) => messages).toSorted((a, b) => a - b)).toEqual(
			places.flatMap((record, index) => (record > 0 && record < kept ? [index] : [])),
		);
	});

	it("as summarised messages is archived, together and by group", async () => {
		const archive = await open();
		const { report, error } = await compactConversation({
			conversation,
			policy: policyOf({ compaction: { keep_last_messages: 1 } }),
			strategy: { kind: "built_in", name: "llm-summary" },
			answer: { kind: "given", summary: "## Task\nRead on." },
			force: true,
			archive,
		});
		expect(error).toBeUndefined();
		expect(report.result).toBe("summarised");
		const groups = report.dropped_groups ?? [];
		await checkGroups(archive, groups);
		const gone = groups.flatMap(({ messages }) => messages).toSorted((a, b) => a - b);
		expect(new Set(gone).size).toBe(gone.length);
		expect(gone.length).toBe(report.summary?.messages);
		expect((await archive.get(report.summary?.ref ?? "")).kind).toBe("group");
	});
});

it("a group that a strategy takes apart is archived by message", async () => {
	const archive = await open();
	const call = (id: string) => ({ id, type: "function", function: { name: "ls", arguments: "{}" } });
	const made = (...ids: readonly string[]) => ({ role: "assistant", content: null, tool_calls: ids.map(call) });
	const result = (id: string) => ({ role: "tool", tool_call_id: id, content: outputOf(id) });
	const conversation = [
		{ role: "user", content: "Go." },
		made("a", "b"),
		result("a"),
		result("b"),
		{ role: "user", content: "On." },
	];
	const { report } = await compactConversation({
		conversation,
		policy: policyOf(),
		strategy: {
			kind: "external",
			name: "own",
			strategy: { compact: ({ history: [task, _calls, first, _second, last] }) => [task, made("a"), first, last] },
		},
		answer: { kind: "none" },
		force: true,
		archive,
	});
	const groups = report.dropped_groups ?? [];
	expect(groups.map(({ messages }) => messages)).toEqual([[1], [3]]);
	const texts = await Promise.all(groups.map(async ({ ref }) => JSON.parse((await archive.get(ref)).text)));
	expect(texts).toEqual([[conversation[1]], [conversation[3]]]);
});

it("a dropped result without its call is found by the call that it names", async () => {
	const archive = await open();
	const orphan = { role: "tool", tool_call_id: "lost", content: outputOf("lost") };
	const conversation = [{ role: "user", content: "Go." }, orphan, ...Array(4).fill({ role: "user", content: "More." })];
	const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
	const { report } = await guardConversation({ conversation, policy, archive, contextWindow: 200 });
	expect(report.dropped_groups?.[0]?.messages).toEqual([1]);
	expect(await archive.find("lost")).toMatchObject([{ kind: "group", toolName: undefined }]);
});
