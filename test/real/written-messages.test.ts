import { afterAll, describe, expect, it } from "vitest";
import { applyPlan } from "../../src/engine/conversation/apply.ts";
import { valueAt } from "../../src/engine/conversation/paths.ts";
import type { Message, Transcript } from "../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { formats, type ReadConversation, readConversation } from "../../src/formats/detect.ts";
import type { RecordLinks } from "../../src/formats/format.ts";
import { atLeast } from "../support/breadth.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { hasRealData, realConversations } from "../support/real-conversations.ts";

type Json = Readonly<Record<string, unknown>>;

/** What the folder calls a format, where we call it otherwise. */
const theirNames = { "openai-chat": "openai", "anthropic-messages": "anthropic" };
const names = formats.map(({ name }) => theirNames[name as keyof typeof theirNames] ?? name);

const said = "So far: the files were listed, and two tests fail.";
const count = { conversations: 0, replaced: 0, all: 0, values: 0, appended: 0, added: 0, formats: new Set<string>() };
/** Conversations in which what was left over after a replacement tells no format. */
const untold: string[] = [];

/** All of a message but where it stands. */
function contentOf({ role, counted, mediaTokens, calls, results, thinking, sent }: Message) {
	const texts = results.map(({ callId, isError, texts }) => [callId, isError, texts.map(({ text }) => text)]);
	return { role, counted: counted.filter(Boolean), mediaTokens, calls, texts, thinking: thinking.length, sent };
}
const contentsOf = ({ messages }: Transcript) => messages.map(contentOf);
const plain = (role: string, text = said) =>
	expect.objectContaining({ role, counted: [text], mediaTokens: 0, calls: [], texts: [], thinking: 0 });

/** Messages with all that a compaction takes together with them: calls with their results, and what stands in one value. */
function groupOf({ transcript, located }: ReadConversation, messages: readonly number[]) {
	const valuesOf = (index: number) =>
		transcript.messages[index]?.paths.map((path) => path[located.base.length] as number) ?? [];
	const holders = new Map<number, number[]>();
	transcript.messages.forEach((_, index) => {
		for (const value of valuesOf(index)) holders.set(value, [...(holders.get(value) ?? []), index]);
	});
	const pairs = pairResults(transcript);
	const group = new Set(messages);
	for (const one of group) {
		for (const value of valuesOf(one)) for (const other of holders.get(value) ?? []) group.add(other);
		for (const pair of pairs) {
			if (pair.caller === one) group.add(pair.message);
			if (pair.message === one && pair.caller !== undefined) group.add(pair.caller);
		}
	}
	const values = Array.from(group).flatMap(valuesOf);
	return { group, values: new Set(values), first: Math.min(...values) };
}

/** The records without those that go, each tied to the nearest before it that stays. */
function without(records: readonly Json[], gone: ReadonlySet<number>, links: RecordLinks | undefined): Json[] {
	if (!links) return records.filter((_, index) => !gone.has(index));
	const [parent = ""] = links.parent as string[];
	const parents = new Map(
		Array.from(gone, (index) => [valueAt(records[index], links.id), valueAt(records[index], links.parent)]),
	);
	return records.flatMap((record, index) => {
		if (gone.has(index)) return [];
		let before = record[parent];
		while (before !== undefined && parents.has(before)) before = parents.get(before);
		return [before === record[parent] ? record : { ...record, [parent]: before }];
	});
}

describe.skipIf(!hasRealData)("messages inserted into real conversations", () => {
	const conversations = realConversations(names);

	it.each(conversations)("$file: a user message replaces one message and many", ({ file, document }) => {
		const before = readConversation(deepFreeze(document));
		const { format, transcript, located } = before;
		const sent = transcript.messages.flatMap((message, index) =>
			message.sent === false || message.role === "system" ? [] : [index],
		);
		const at = (share: number) => Math.floor(share * (sent.length - 1));
		const ranges = [0, 0.25, 0.5, 0.75, 1].map((share) => sent.slice(at(share), at(share) + 1));
		// What comes last in a session tells its branch from those that were left behind.
		const last = format.links ? groupOf(before, sent.slice(-1)).group : new Set();
		const many = [sent.slice(1, at(0.8) + 1), sent].map((range) => range.filter((index) => !last.has(index)));
		for (const range of [...ranges, ...many]) {
			if (range.length === 0) continue;
			const { group, values, first } = groupOf(before, range);
			const written = format.write.message({ role: "user", text: said, instead: located.messages[first] });
			const records = (located.messages as readonly Json[]).with(first, written as Json);
			const gone = new Set(values);
			gone.delete(first);
			const messages = without(records, gone, format.links);

			const expected = contentsOf(transcript).flatMap((one, index) =>
				index === Math.min(...group) ? [plain("user")] : group.has(index) ? [] : [one],
			);
			const edited = { ...document, messages };
			expect(contentsOf(format.read({ document: edited, base: ["messages"], messages }))).toEqual(expected);
			const rest = { ...document, messages: messages.filter((one) => one !== written) };
			if (group.size === sent.length) count.all += 1;
			else if (formatOf(rest) === format.name) expect(readConversation(edited).format.name).toBe(format.name);
			else untold.push(file);
			count.replaced += 1;
			count.values += values.size;
		}
		count.conversations += 1;
		count.formats.add(format.name);
	});

	const open = conversations.filter(({ document }) => readConversation(document).format.write.appends);
	it.each(open)("$file: an answer and a request follow the last message", ({ document }) => {
		const { format, transcript } = readConversation(deepFreeze(document));
		const added = (["assistant", "user"] as const).map((role) => format.write.message({ role, text: said }));
		const after = readConversation({ ...document, messages: [...document.messages, ...added] });
		expect(after.format.name).toBe(format.name);
		const contents = contentsOf(after.transcript);
		const before = contentsOf(transcript);
		expect(contents.at(-1)).toEqual(plain("user"));
		const joined = contents.length === before.length + 1;
		if (joined) expect([format.name, before.at(-1)?.role]).toEqual(["openai-responses", "assistant"]);
		else expect(contents).toEqual([...before, plain("assistant"), plain("user")]);
		expect(contents.at(-2)?.counted.at(-1)).toBe(said);
		count.appended += 1;
	});

	const taking = open.filter(({ document }) => readConversation(document).transcript.inTurn);
	it.each(taking)("$file: a text follows the last one of each message", ({ document }) => {
		const { format, transcript } = readConversation(deepFreeze(document));
		const { lists = [], write } = format.write.part ?? {};
		const plan = document.messages.flatMap((message, index) =>
			lists.flatMap((list) => {
				const parts = valueAt(message, list);
				const path = [index, ...list, Array.isArray(parts) ? parts.length : 0];
				return Array.isArray(parts) ? [{ kind: "insert", path, value: write?.(said) } as const] : [];
			}),
		);
		const messages = applyPlan(document.messages, plan) as typeof document.messages;
		const after = readConversation({ ...document, messages });
		expect(after.format.name).toBe(format.name);
		for (const [index, one] of contentsOf(after.transcript).entries()) {
			const was = contentOf(transcript.messages[index] as Message);
			expect(one).toEqual({ ...was, counted: [...was.counted, said] });
			count.added += 1;
		}
	});

	afterAll(() => {
		process.stderr.write(`Written: ${JSON.stringify({ ...count, formats: [...count.formats] })}\n`);
		if (untold.length > 0) process.stderr.write(`No format told by the rest: ${[...new Set(untold)].join(", ")}\n`);
		expect(count.conversations).toBeGreaterThan(atLeast(200));
		expect(count.formats.size).toBe(13);
		expect(count.replaced).toBeGreaterThan(atLeast(1_200));
		expect(count.values).toBeGreaterThan(atLeast(10_000));
		expect(count.appended).toBeGreaterThan(atLeast(150));
		expect(count.added).toBeGreaterThan(atLeast(100));
		expect(untold.length).toBeLessThan(count.replaced / 10);
	});
});

function formatOf(document: unknown): string | undefined {
	try {
		return readConversation(document).format.name;
	} catch {
		return undefined;
	}
}
