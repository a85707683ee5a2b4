import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import { valueAt } from "../../../src/engine/conversation/paths.ts";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { groupMessages, pairResults } from "../../../src/engine/conversation/turns.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { conversations } from "../../support/conversation-arbitrary.ts";
import { rewrite } from "./rewriting.ts";

type Json = Readonly<Record<string, unknown>>;

/** What is done to a group: nothing, left out, a text in its place, its results hidden. */
const deeds = fc.array(fc.constantFrom("keep", "drop", "replace", "hide"), { minLength: 40, maxLength: 40 });

const count = {
	accepted: 0,
	grown: 0,
	drop: 0,
	replace: 0,
	hide: 0,
	result: 0,
	call: 0,
	duplicate: 0,
	swap: 0,
	between: 0,
	rename: 0,
};

/** The text of a hidden result, and of a message in the place of a group. A generated text is hardly ever one of them. */
const hiddenText = "hidden by this test";
const replacedText = "§";

/** A message with what its tools answered hidden, in either format. */
function hidden(message: Json): Json {
	if (message.role === "tool" || message.role === "function") return { ...message, content: hiddenText };
	if (!Array.isArray(message.content)) return message;
	const content = (message.content as Json[]).map((block) =>
		block.type === "tool_result" ? { ...block, content: hiddenText } : block,
	);
	return { ...message, content };
}

/** Carries out one deed for each group of a conversation in which each value is a message. */
function rewritten(transcript: Transcript, history: readonly unknown[], wanted: readonly string[]): unknown[] {
	const last = transcript.messages.findLastIndex(({ role }) => role !== "system");
	const after = new Map<number, unknown>(history.map((value, index) => [index, value]));
	groupMessages(transcript, pairResults(transcript)).forEach(({ messages }, group) => {
		const members = messages.map((index) => transcript.messages[index]);
		const deed = wanted[group % wanted.length] ?? "keep";
		// A last one stays, so that something is left.
		if (deed === "keep" || messages.includes(last)) return;
		if (members.some((message) => message?.role === "system" || message?.role === "other")) return;
		const [first = -1] = messages;
		for (const index of messages) {
			if (deed === "hide") after.set(index, hidden(history[index] as Json));
			else after.delete(index);
		}
		if (deed === "replace") after.set(first, { role: "user", content: replacedText });
		count[deed as "drop" | "replace" | "hide"] += 1;
	});
	return [...after].toSorted(([a], [b]) => a - b).map(([, value]) => value);
}

describe("random rewrites", () => {
	test.prop([conversations, deeds], { numRuns: numberOfCases(600) })(
		"of complete groups are accepted and written unchanged",
		({ document }, wanted) => {
			const { transcript } = readConversation(document);
			// Of two equal messages that name the same block, the list does not tell which one has stayed.
			const linked = transcript.messages.filter(({ links }) => links).flatMap(({ paths }) => paths);
			const spelled = linked.map((path) => JSON.stringify(valueAt(document, path)));
			fc.pre(new Set(spelled).size === spelled.length);
			let after: unknown[] = [];
			const made = rewrite(document, (history) => {
				after = rewritten(transcript, history, wanted);
				return after;
			});
			const list = Array.isArray(made.document) ? made.document : (made.document as { messages: unknown }).messages;
			expect(JSON.stringify(list)).toBe(JSON.stringify(after));
			if (made.rewrite.kind !== "rewrite") return;
			// What was hardly anything can grow when something is put in its place.
			if (made.promises.includes("every_edit_shrinks")) {
				expect(made.violations.length).toBe(1);
				count.grown += 1;
				return;
			}
			expect(made.violations).toEqual([]);
			count.accepted += 1;
		},
	);
});

/** Which message is broken, of those that can be. */
const choice = fc.nat();

const pick = (of: readonly number[], number: number) => of[number % of.length];

const without = (list: readonly unknown[], index: number) => list.filter((_, position) => position !== index);

/** Rewrites with the one message that is chosen broken; `undefined` where none can be. */
function broken(
	document: unknown,
	number: number,
	how: {
		readonly candidates: (transcript: Transcript, keys: readonly string[]) => readonly number[];
		readonly breakIt: (history: readonly unknown[], index: number) => unknown[];
	},
): readonly string[] | undefined {
	const { transcript, located } = readConversation(document);
	const keys = located.messages.map((value) => JSON.stringify(value));
	const index = pick(how.candidates(transcript, keys), number);
	if (index === undefined) return undefined;
	return rewrite(document, (history) => how.breakIt(history, index)).promises;
}

const isUnique = (keys: readonly string[], index: number) =>
	keys.indexOf(keys[index] ?? "") === index && keys.lastIndexOf(keys[index] ?? "") === index;

const indexes = (transcript: Transcript) => transcript.messages.map((_, index) => index);

const callers = (transcript: Transcript) =>
	new Set(pairResults(transcript).flatMap(({ caller }) => (caller === undefined ? [] : [caller])));

describe("random invalid rewrites are refused", () => {
	test.prop([conversations, choice], { numRuns: numberOfCases(300) })("a missing result", ({ document }, number) => {
		const promises = broken(document, number, {
			candidates: (transcript) =>
				pairResults(transcript).flatMap(({ caller, message }) => (caller === undefined ? [] : [message])),
			breakIt: without,
		});
		if (promises === undefined) return;
		expect(promises.filter((one) => one === "pairing_kept" || one === "order_kept")).not.toEqual([]);
		count.result += 1;
	});

	test.prop([conversations, choice], { numRuns: numberOfCases(300) })("a missing call", ({ document }, number) => {
		const promises = broken(document, number, {
			// Of equal calls one that has no results may go.
			candidates: (transcript, keys) => [...callers(transcript)].filter((index) => isUnique(keys, index)),
			breakIt: without,
		});
		if (promises === undefined) return;
		expect(promises.filter((one) => one === "pairing_kept" || one === "order_kept")).not.toEqual([]);
		count.call += 1;
	});

	test.prop([conversations, choice], { numRuns: numberOfCases(300) })(
		"a duplicate call, result or instruction",
		({ document }, number) => {
			const promises = broken(document, number, {
				candidates: (transcript) =>
					indexes(transcript).filter((index) => {
						const { calls = [], results = [], role } = transcript.messages[index] ?? {};
						return calls.length + results.length > 0 || role === "system";
					}),
				breakIt: (history, index) => [...history.slice(0, index + 1), history[index], ...history.slice(index + 1)],
			});
			if (promises === undefined) return;
			expect(promises.filter((one) => one !== "every_edit_shrinks")).not.toEqual([]);
			count.duplicate += 1;
		},
	);

	test.prop([conversations, choice], { numRuns: numberOfCases(300) })(
		"two swapped messages",
		({ document }, number) => {
			const promises = broken(document, number, {
				candidates: (transcript, keys) =>
					indexes(transcript).filter((index) => index > 0 && isUnique(keys, index) && isUnique(keys, index - 1)),
				breakIt: (history, index) => [
					...history.slice(0, index - 1),
					history[index],
					history[index - 1],
					...history.slice(index + 1),
				],
			});
			if (promises === undefined) return;
			expect(promises).toContain("order_kept");
			count.swap += 1;
		},
	);

	test.prop([conversations, choice], { numRuns: numberOfCases(300) })("a text after a call", ({ document }, number) => {
		const promises = broken(document, number, {
			candidates: (transcript) => [...callers(transcript)],
			breakIt: (history, index) => [
				...history.slice(0, index + 1),
				{ role: "user", content: replacedText },
				...history.slice(index + 1),
			],
		});
		if (promises === undefined) return;
		expect(promises).toContain("pairing_kept");
		count.between += 1;
	});

	test.prop([conversations, choice], { numRuns: numberOfCases(300) })(
		"a call of another tool",
		({ document }, number) => {
			const promises = broken(document, number, {
				candidates: (transcript) => indexes(transcript).filter((index) => transcript.messages[index]?.calls.length),
				breakIt: (history, index) => history.map((value, position) => (position === index ? renamed(value) : value)),
			});
			if (promises === undefined) return;
			expect(promises).toContain("ids_kept");
			count.rename += 1;
		},
	);

	afterAll(() => {
		expect(count.accepted).toBeGreaterThan(leastOfCases(400));
		expect(Math.min(count.drop, count.replace, count.hide)).toBeGreaterThan(leastOfCases(300));
		expect(count.grown).toBeLessThan(150);
		const { result, call, duplicate, swap, between, rename } = count;
		expect(Math.min(result, call, duplicate, swap, between, rename)).toBeGreaterThan(leastOfCases(200));
	});
});

function renamed(value: unknown): unknown {
	const message = value as Json;
	if (Array.isArray(message.tool_calls)) {
		const calls = (message.tool_calls as Json[]).map((call) => ({
			...call,
			function: { ...(call.function as Json), name: "another_tool" },
		}));
		return { ...message, tool_calls: calls };
	}
	const content = (message.content as Json[]).map((block) =>
		block.type === "tool_use" ? { ...block, name: "another_tool" } : block,
	);
	return { ...message, content };
}
