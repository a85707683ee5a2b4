import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonPointer, valueAt } from "../../src/engine/conversation/paths.ts";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import { toolTurns } from "../../src/engine/conversation/turns.ts";
import { formats, locateMessages, readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData, realConversations, realDataFolder } from "../support/real-conversations.ts";

/** What is counted in a conversation, and what the index of the real ones tells of it. */
export interface Counts {
	readonly messages: number;
	readonly tool_turns: number;
	readonly calls: number;
	readonly results: number;
}

interface IndexEntry extends Counts {
	readonly file: string;
	readonly format: string;
}

const index: readonly IndexEntry[] = hasRealData
	? JSON.parse(readFileSync(join(realDataFolder, "index.json"), "utf8"))
	: [];

/**
 * Checks a format on the real sessions that are recorded in it: found by its shape and by no other's, counts as the
 * index has them (`expected` tells where and why they differ), masks and guards without a broken promise.
 */
export function describeRealSessions(
	name: string,
	expected: (file: string, told: Counts, records: readonly Record<string, unknown>[]) => Partial<Counts>,
): void {
	const files = realConversations([name]);

	describe.skipIf(files.length === 0)(`real conversations: ${name}`, () => {
		it.each(files)("$file is detected by its shape and counted as in the index", ({ file, document }) => {
			const { format, transcript, located } = readConversation(document);
			expect(format.name).toBe(name);
			const fits = formats.filter((one) => one.probe(located).fit !== "none");
			expect(fits.map((one) => one.name)).toEqual([name]);
			const entry = index.find((one) => one.file === `conversations/${file}`);
			const { messages, tool_turns, calls, results } = entry as IndexEntry;
			const told = { messages, tool_turns, calls, results };
			expect(countsOf(transcript)).toEqual({ ...told, ...expected(file, told, document.messages) });
		});

		it(`no other conversation is read as ${name}`, () => {
			const others = new Set(index.map((entry) => entry.format));
			others.delete(name);
			for (const { document, file } of realConversations([...others])) {
				const format = formats.find((one) => one.name === name);
				expect(format?.probe(locateMessages(document)).fit, file).toBe("none");
			}
		});

		it.each(files)("$file: every path leads to its content", ({ document }) => {
			const { transcript } = readConversation(document);
			const paths = transcript.messages.flatMap((message) => message.paths.map(jsonPointer));
			expect(new Set(paths).size).toBe(paths.length);
			for (const message of transcript.messages) {
				for (const path of message.paths) expect(valueAt(document, path)).toBeTypeOf("object");
				const removable = message.thinking.filter((block) => !block.fixed);
				for (const { path } of removable) expect(valueAt(document, path)).toBeTypeOf("object");
				for (const { texts, copies, whole } of message.results) {
					for (const node of [...texts, ...copies]) expect(valueAt(document, node.path)).toBe(node.text);
					if (whole) expect(valueAt(document, whole.path)).toBeDefined();
				}
			}
		});

		it.each(files)("$file: masking", async ({ document }) => {
			const before = deepFreeze(document);
			for (const windowTurns of [0, 1, 3, 8, 50]) {
				for (const keepErrors of [true, false]) {
					const policy = policyOf({ mask: { window_turns: windowTurns, keep_errors: keepErrors } });
					const outcome = await maskConversation({ conversation: before, policy });
					expect(outcome.error).toBeUndefined();
					const twice = await maskConversation({ conversation: outcome.conversation, policy });
					expect(twice.conversation).toBe(outcome.conversation);
				}
			}
		});

		it.each(files)("$file: guarding", async ({ document }) => {
			const before = deepFreeze(document);
			for (const preset of ["observation-masking", "context-guard", "context-trim"] as const) {
				for (const contextWindow of [1_000, 8_000, 32_000, 128_000]) {
					const policy = policyOf({ preset, guard: { reserve_tokens: Math.min(8_192, contextWindow / 8) } });
					const outcome = await guardConversation({ conversation: before, policy, contextWindow });
					expect(outcome.error).toBeUndefined();
				}
			}
		});

		it.each(files)("$file: the edits for n records are a subset of the edits for n + 1", async ({ document }) => {
			const { messages } = document;
			const policy = policyOf({ mask: { window_turns: 3 } });
			const editsFor = async (count: number) => {
				const { edits, error } = await maskConversation({ conversation: messages.slice(0, count), policy });
				expect(error).toBeUndefined();
				return edits.map((edit) => JSON.stringify(edit));
			};
			for (const share of [0.25, 0.4, 0.55, 0.7, 0.85, 1]) {
				const length = Math.floor(messages.length * share);
				if (!isReadable(messages.slice(0, length - 1))) continue;
				const longer = new Set(await editsFor(length));
				expect((await editsFor(length - 1)).filter((edit) => !longer.has(edit))).toEqual([]);
			}
		});
	});
}

function countsOf(transcript: Transcript): Counts {
	const { messages } = transcript;
	return {
		messages: messages.reduce((sum, message) => sum + message.paths.length, 0),
		tool_turns: toolTurns(transcript).length,
		calls: messages.reduce((sum, message) => sum + message.calls.length, 0),
		results: messages.reduce((sum, message) => sum + message.results.length, 0),
	};
}

function isReadable(messages: readonly unknown[]): boolean {
	try {
		readConversation(messages);
		return true;
	} catch {
		return false;
	}
}
