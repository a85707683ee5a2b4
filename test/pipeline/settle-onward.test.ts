import { describe, expect, it } from "vitest";
import type { Edit, Plan } from "../../src/engine/edit.ts";
import type { Path } from "../../src/engine/path.ts";
import { createConversationMemory } from "../../src/formats/conversation-memory.ts";
import { type ReadConversation, readConversation } from "../../src/formats/read-conversation.ts";
import { settle } from "../../src/pipeline/settle.ts";
import { roughCount } from "../support/rough-count.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const before = { chars: 1_000, tokens: 300 };
const replace = (path: Path, message = Number(path.at(-2))): Edit => ({
	kind: "replace",
	reason: "mask",
	path,
	message,
	replacement: "[x]",
	before,
	after: { chars: 3, tokens: 1 },
});
const remove = (message: number): Edit => ({
	kind: "remove",
	reason: "drop",
	path: [message],
	message,
	before,
	after: { chars: 0, tokens: 0 },
});

/** Messages: 0 the task, then a call and its result for each turn. */
const conversation = (turns: number) =>
	openaiMessages(
		user("The task."),
		...Array.from({ length: turns }, (_, turn) => toolTurn(`${turn}`, outputOf(`${turn}`))),
	);

/** A conversation that was settled with a plan, and how it is settled with another one when a turn has followed. */
function goOn(first: Plan, second: Plan, change: (messages: Record<string, unknown>[]) => void = () => undefined) {
	const memory = createConversationMemory({ conversations: 2, chars: 1_000_000 });
	settle({ source: readConversation(conversation(4), memory), plan: first, countTokens: roughCount });
	const messages = conversation(5) as Record<string, unknown>[];
	change(messages);
	const source = readConversation(messages, memory);
	const read: number[] = [];
	const counting: ReadConversation = {
		...source,
		format: {
			...source.format,
			read(located) {
				read.push(located.messages.length);
				return source.format.read(located);
			},
		},
	};
	const settled = settle({ source: counting, plan: second, countTokens: roughCount });
	const anew = settle({ source: readConversation(messages), plan: second, countTokens: roughCount });
	return { settled, anew, read, messages };
}

describe("settling a conversation that goes on", () => {
	const old = [remove(1), remove(2), replace([4, "content"])];
	const latest = replace([6, "content"]);

	it("reads and verifies only what has new edits, before and after", () => {
		const { settled, anew, read } = goOn(old, [...old, latest]);
		expect(settled.kind).toBe("kept_promises");
		expect(settled).toEqual(anew);
		expect(read).toEqual([1, 1]);
		expect(goOn(old, old).read).toEqual([]);
	});

	it("shares what no edit touches with the conversation that came in", () => {
		const { settled, messages } = goOn(old, [...old, latest]);
		const document = settled.document as unknown[];
		expect(document[0]).toBe(messages[0]);
		expect(document[1]).toBe(messages[3]);
		expect(document.at(-1)).toBe(messages.at(-1));
	});

	it("verifies all where a value differs from what was settled", () => {
		const { settled, anew, read } = goOn(old, [...old, latest], (messages) => {
			messages[4] = { ...messages[4], content: "another result ".repeat(60) };
		});
		expect(settled).toEqual(anew);
		expect(Math.max(...read)).toBeGreaterThan(5);
	});

	it.each<[string, Plan, RegExp]>([
		["a pair torn by a new drop", [...old.slice(0, 2), remove(3), replace([4, "content"])], /pairing_kept/],
		["a pair torn by what is dropped no longer", [remove(1), replace([4, "content"])], /pairing_kept/],
		["a new edit of what the user said", [replace([0, "content"]), ...old], /only_tool_results_edited/],
		["a new edit that makes nothing smaller", [...old, { ...latest, after: before }], /every_edit_shrinks/],
		["a place that is not there", [...old, replace([6, "contents"])], /could not be applied/],
		["another role", [...old, replace([6, "role"])], /left as it was/],
	])("keeps the original as the first time: %s", (_, plan, message) => {
		const { settled, anew, messages } = goOn(old, plan);
		expect(settled).toMatchObject({ kind: "broken_promise", error: { message: expect.stringMatching(message) } });
		expect(settled.document).toBe(messages);
		expect(settled).toEqual(anew);
	});

	it("edits nothing where a path leads elsewhere in a request body", () => {
		const memory = createConversationMemory({ conversations: 2, chars: 1_000_000 });
		const read = (turns: number) =>
			readConversation({ messages: conversation(turns), others: conversation(1) }, memory);
		const edit = replace(["messages", 2, "content"]);
		settle({ source: read(3), plan: [edit], countTokens: roughCount });
		const plan = [edit, replace(["others", 4, "content"])];
		expect(settle({ source: read(4), plan, countTokens: roughCount }).kind).toBe("broken_promise");
	});

	it("keeps the wrapping of a request body", () => {
		const memory = createConversationMemory({ conversations: 2, chars: 1_000_000 });
		const settleBody = (turns: number, plan: Plan) => {
			const source = readConversation({ model: "gpt-4o", messages: conversation(turns), stream: true }, memory);
			return settle({ source, plan, countTokens: roughCount }).document;
		};
		const edit = replace(["messages", 2, "content"]);
		settleBody(3, [edit]);
		const document = settleBody(4, [edit]) as { messages: { content: unknown }[] };
		expect(Object.keys(document)).toEqual(["model", "messages", "stream"]);
		expect(document.messages[2]?.content).toBe("[x]");
		expect(document.messages).toHaveLength(9);
	});
});
