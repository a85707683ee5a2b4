import { describe, expect, it } from "vitest";
import type { Edit, Plan } from "../../../src/engine/conversation/plan.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import type { Archive, Original } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { archiveOriginals } from "../../../src/storage/restore/originals.ts";
import { calls, openaiMessages, results, user } from "../../support/script.ts";

/** The groups and originals that a plan without the given messages archives. */
async function archivedWithout(conversation: unknown, edits: readonly Partial<Edit>[]) {
	const memory = (await openArchive({ where: "memory" })) as Archive;
	const put: Original[] = [];
	const archive: Archive = {
		...memory,
		put: (originals) => {
			put.push(...originals);
			return memory.put(originals);
		},
	};
	const plan = edits as Plan;
	const groups = await archiveOriginals({ archive, source: readConversation(conversation), plan });
	return { put, groups: groups.map(({ messages }) => messages) };
}

const drop = (message: number): Partial<Edit> => ({ kind: "remove", reason: "drop", message, path: [message] });

describe("a message that is taken out", () => {
	const conversation = openaiMessages(
		user("Go."),
		calls({ id: "a", name: "read" }, { id: "b", name: "list" }),
		results({ id: "a", content: "A" }, { id: "b", content: "B" }),
		results({ id: "lost", content: "C" }),
		calls({ name: "nameless" }),
		user("And now?"),
	);
	const jsonOf = (...messages: number[]) => JSON.stringify(messages.map((message) => conversation[message]));
	const group = (messages: readonly number[], more = {}) => ({ kind: "group", text: jsonOf(...messages), ...more });

	it("is archived with its group, under each of its calls, or the ids that it answers", async () => {
		const { put, groups } = await archivedWithout(conversation, [0, 1, 2, 3, 4, 5].map(drop));
		expect(groups).toEqual([[0], [1, 2, 3], [4], [5]]);
		expect(put).toEqual([
			group([0]),
			group([1, 2, 3], { toolCallId: "a", toolName: "read" }),
			group([1, 2, 3], { toolCallId: "b", toolName: "list" }),
			group([4], { toolCallId: "lost" }),
			group([5]),
		]);
	});

	it("is archived by itself where a part of its group stays", async () => {
		const { put, groups } = await archivedWithout(conversation, [2, 3].map(drop));
		expect(groups).toEqual([[2], [3]]);
		expect(put).toEqual([group([2], { toolCallId: "a" }), group([3], { toolCallId: "b" })]);
	});

	it("is archived with the others of its value, whether they are named or not", async () => {
		const asked = { role: "user", parts: [{ type: "text", text: "Go." }] };
		const call = (id: string) => ({
			type: "dynamic-tool",
			toolName: "read",
			toolCallId: id,
			...{ state: "output-available", input: {}, output: "done" },
		});
		const answer = { role: "assistant", parts: [{ type: "step-start" }, call("a"), { type: "step-start" }, call("b")] };
		const messages = [asked, answer, asked];
		const base = { messages };
		expect(readConversation(base).transcript.messages.map(({ paths }) => paths[0]?.slice(0, 2))).toEqual([
			["messages", 0],
			["messages", 1],
			["messages", 1],
			["messages", 2],
		]);
		for (const kind of ["replace", "remove"] as const) {
			const summary: Partial<Edit> = { kind, reason: "summary", message: 1, path: ["messages", 1] };
			expect((await archivedWithout(base, [summary])).groups).toEqual([[1], [2]]);
		}
		const inserted: Partial<Edit> = { kind: "insert", reason: "summary", message: 1, path: ["messages", 1] };
		expect(await archivedWithout(base, [inserted])).toEqual({ put: [], groups: [] });
	});
});
