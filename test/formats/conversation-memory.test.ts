import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { createConversationMemory } from "../../src/formats/conversation-memory.ts";
import { readConversation } from "../../src/formats/read-conversation.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { outputOf } from "../support/sample-text.ts";
import { type JsonMessage, openaiMessages, system, toolTurn, user } from "../support/script.ts";

const roomy = { conversations: 4, chars: 10_000_000 };
const turns = (count: number) =>
	Array.from({ length: count }, (_, index) => toolTurn(`c${index}`, outputOf(`${index}`)));
const conversation = (count: number) => openaiMessages(system("You are an agent."), user("The task."), ...turns(count));
const cloned = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));

/** How many messages a memory gives back as the very objects of an earlier reading. */
function known(memory: ReturnType<typeof createConversationMemory>, before: unknown, after: unknown): number {
	const earlier = new Set(readConversation(before, memory).transcript.messages);
	return readConversation(after, memory).transcript.messages.filter((message) => earlier.has(message)).length;
}

describe("a conversation memory", () => {
	it("reads only what is new where a conversation goes on", () => {
		const before = conversation(5);
		const after = [...cloned(before), { role: "user", content: "And now?" }];
		expect(known(createConversationMemory(roomy), before, after)).toBe(before.length);
	});

	it("reads anew what was changed in place, in the very same objects", () => {
		const messages = conversation(5) as (JsonMessage & { content: string })[];
		const memory = createConversationMemory(roomy);
		readConversation(messages, memory);
		const last = messages.at(-1) as { content: string };
		last.content = "changed";
		const { transcript } = readConversation(messages, memory);
		expect(transcript.messages.at(-1)?.results[0]?.texts[0]?.text).toBe("changed");
	});

	it("of owned conversations knows the same, without a copy", () => {
		const memory = createConversationMemory(roomy);
		const before = conversation(5);
		const first = readConversation(before, memory.ofOwned).transcript.messages;
		const after = readConversation([...cloned(before), { role: "user", content: "And now?" }], memory.ofOwned);
		expect(after.transcript.messages.slice(0, -1)).toEqual(first);
		expect(after.transcript.messages.filter((message) => first.includes(message))).toHaveLength(before.length);
		// Nothing was copied, so that what its owner changes all the same is not seen: only who owns it may ask for this.
		const last = before.at(-1) as unknown as { content: string };
		last.content = "changed";
		expect(readConversation(before, memory.ofOwned).transcript.messages.at(-1)).toBe(first.at(-1));
		// Both ways are of one memory.
		expect(memory.size()).toEqual(memory.ofOwned.size());
		expect(memory.ofOwned.ofOwned).toBe(memory.ofOwned);
		expect(known(memory, cloned(before), cloned(before))).toBe(before.length);
	});

	it("knows the messages behind a changed one, but none that moved", () => {
		const before = conversation(5);
		const changed = cloned(before) as (JsonMessage & { content: string })[];
		(changed[3] as { content: string }).content = "[masked]";
		expect(known(createConversationMemory(roomy), before, changed)).toBe(before.length - 1);
		expect(known(createConversationMemory(roomy), before, before.slice(1))).toBe(0);
	});

	it("tells formats and wrappings apart", () => {
		const memory = createConversationMemory(roomy);
		const messages = [{ role: "user", content: "Hello." }];
		expect(known(memory, messages, { messages })).toBe(0);
		expect(readConversation({ messages }, memory).transcript.messages[0]?.paths).toEqual([["messages", 0]]);
		// As a request to Anthropic the same message is of another format.
		const anthropic = { system: "Be brief.", messages };
		expect(readConversation(anthropic, memory).transcript).toEqual(readConversation(anthropic).transcript);
		expect(readConversation(anthropic, memory).format.name).toBe("anthropic-messages");
	});

	it("follows several conversations that begin alike", () => {
		const memory = createConversationMemory(roomy);
		const one = openaiMessages(system("S"), user("One."), ...turns(3));
		const two = openaiMessages(system("S"), user("Two."), ...turns(3));
		readConversation(one, memory);
		readConversation(two, memory);
		expect(known(memory, cloned(one), cloned(one))).toBe(one.length);
		expect(known(memory, cloned(two), cloned(two))).toBe(two.length);
	});

	it("keeps its bounds, and forgets the longest unused first", () => {
		const memory = createConversationMemory({ conversations: 3, chars: 60_000 });
		let largest = 0;
		for (let index = 0; index < 50; index += 1) {
			readConversation([{ role: "user", content: `${index}`.padEnd(index * 1_000, "x") }], memory);
			const { conversations, chars } = memory.size();
			expect(conversations).toBeLessThanOrEqual(3);
			expect(chars).toBeLessThanOrEqual(60_000);
			largest = Math.max(largest, chars);
		}
		expect(largest).toBeGreaterThan(50_000);
		const small = (name: string) => [{ role: "user", content: name }];
		const read = (name: string) => readConversation(small(name), memory).transcript.messages[0];
		const first = read("a");
		read("b");
		expect(read("a")).toBe(first);
		for (const name of ["b", "c", "d"]) read(name);
		expect(read("a")).not.toBe(first);
	});

	it("holds no more of one conversation than its bound", () => {
		const memory = createConversationMemory({ conversations: 3, chars: 20_000 });
		const long = conversation(60);
		const knownOfLong = known(memory, long, cloned(long));
		expect(memory.size().chars).toBeLessThanOrEqual(20_000);
		expect(knownOfLong).toBeGreaterThan(0);
		expect(knownOfLong).toBeLessThan(long.length);
	});

	it("does not take values for known that are no plain JSON", () => {
		const memory = createConversationMemory(roomy);
		let text = "one";
		const message = { role: "user", content: { toJSON: () => text } };
		readConversation([{ role: "tool", tool_call_id: "a", content: message.content }], memory);
		text = "two";
		const { transcript } = readConversation([{ role: "tool", tool_call_id: "a", content: message.content }], memory);
		expect(transcript.messages[0]?.counted.join()).toContain("two");
	});

	let reused = 0;
	const edit = fc.record({ kind: fc.constantFrom("append", "change", "remove", "repeat", "none"), at: fc.nat() });
	test.prop([conversations, fc.array(edit, { maxLength: 6 })], { numRuns: 300 })(
		"reads what is read without it, whatever came before",
		({ document }, edits) => {
			const memory = createConversationMemory({ conversations: 2, chars: 200_000 });
			let current = cloned(document);
			let seen = new Set<unknown>();
			for (const { kind, at } of [{ kind: "none", at: 0 }, ...edits]) {
				current = changed(current, kind, at);
				const plain = readConversation(current).transcript;
				const { transcript } = readConversation(current, memory);
				expect(plainly(transcript)).toEqual(plainly(plain));
				reused += transcript.messages.filter((message) => seen.has(message)).length;
				seen = new Set(transcript.messages);
			}
		},
	);

	it("did know messages in that property", () => {
		expect(reused).toBeGreaterThan(1_000);
	});
});

/** A transcript without its functions, which are never equal. */
function plainly(value: unknown): unknown {
	return JSON.parse(JSON.stringify(value));
}

function changed(document: unknown, kind: string, at: number): unknown {
	const copy = cloned(document) as JsonMessage[] | { messages: JsonMessage[] };
	const messages = Array.isArray(copy) ? copy : copy.messages;
	const index = messages.length === 0 ? 0 : at % messages.length;
	const message = messages[index];
	if (kind === "append") messages.push({ role: "user", content: `appended ${at}` });
	else if (kind === "remove" && messages.length > 1) messages.splice(index, 1);
	else if (message && kind === "change" && message.role !== "tool") messages[index] = { ...message, extra: at };
	else if (message && kind === "repeat") messages.push(message);
	return copy;
}
