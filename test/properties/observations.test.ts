import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { inFrame } from "../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn } from "../support/script.ts";
import { protocolConversation, protocolSamples } from "../support/text-protocols.ts";

const seen = { masked: 0, guarded: 0, restored: 0 };

/** Outputs that hold the marks of every protocol, at their ends too. */
const marks = [
	"\n<feedback>\nNo.\n</feedback>",
	"\nThe user provided the following feedback:\n<feedback>\nNo.\n</feedback>",
	"\n<environment_details>\nnow\n</environment_details>",
	"\n(Open file: n/a)\n(Current directory: /r)\nbash-$",
	"\n\nThought: ",
	"\nObservation: ",
	"[read_file for 'b'] Result:\n",
	"<returncode>1</returncode>\n",
	'Result of search_class("A"):\n',
	"Traceback",
	"[Observation masquée: résultat d'outil ancien (tool_call_id=bash#1, outil=bash, chars=99)]",
	"\ud83d",
];
const output = fc
	.array(fc.oneof(fc.constantFrom(...marks), fc.constantFrom(outputOf("a"), outputOf("b", 90), "ok")), { maxLength: 4 })
	.map((parts) => parts.join(""));

const turn = fc.record({
	kind: fc.constantFrom("observation", "observation", "observation", "chatter", "call"),
	output,
});

const conversations = fc
	.record({ sample: fc.constantFrom(...protocolSamples), turns: fc.array(turn, { minLength: 1, maxLength: 9 }) })
	.map(({ sample, turns }) => [
		{ role: "user", content: "The task." },
		...turns.flatMap(({ kind, output: text }, index) => {
			if (kind === "chatter")
				return [
					{ role: "assistant", content: "Hm." },
					{ role: "user", content: text },
				];
			if (kind === "call") return openaiMessages(toolTurn(`call_${index}`, text));
			return protocolConversation(sample, [text]).slice(1);
		}),
	]);

const observations = fc.constantFrom<"auto" | true>("auto", true);

test.prop([conversations, observations, fc.integer({ min: 1, max: 3 })], { numRuns: numberOfCases(300) })(
	"each edit of n messages stays with n + 1, masking twice is masking once, and frames stay",
	async (messages, read, window_turns) => {
		const policy = policyOf({ mask: { window_turns, observations: read } });
		let earlier: readonly string[] = [];
		for (let length = 1; length <= messages.length; length += 1) {
			const given = messages.slice(0, length);
			const { edits, error, conversation } = await maskConversation({ conversation: given, policy });
			expect(error).toBeUndefined();
			const now = edits.map((edit) => JSON.stringify(edit));
			expect(now).toEqual(expect.arrayContaining([...earlier]));
			earlier = now;
			if (length < messages.length) continue;
			expect((await maskConversation({ conversation, policy })).edits).toEqual([]);
			const framesOf = (document: unknown) =>
				readConversation(document, read).transcript.messages.map(({ results }) =>
					results.map(({ texts, callId }) => [callId, texts.map((text) => inFrame(text, ""))]),
				);
			expect(framesOf(conversation)).toEqual(framesOf(given));
			seen.masked += edits.length;
		}
	},
);

test.prop([conversations, observations, fc.integer({ min: 200, max: 3_000 })], { numRuns: numberOfCases(300) })(
	"the guard keeps its promises, and the rest is restored to the byte",
	async (messages, read, contextWindow) => {
		const policy = policyOf({
			mask: { window_turns: 2, observations: read },
			guard: { reserve_tokens: 0, max_tool_result_chars: 1_500, truncate_head_chars: 300, truncate_tail_chars: 300 },
		});
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const document = readTextDocument(JSON.stringify(messages, null, 2).replaceAll("fox", "f\\u006fx"), "it");
		const spellings = (paths: Parameters<typeof spellingsOf>[1]) => spellingsOf(document, paths);
		const request = { conversation: document.value, policy, archive, spellingsOf: spellings };
		const guarded = await guardConversation({ ...request, contextWindow });
		expect(guarded.error).toBeUndefined();
		seen.guarded += guarded.edits.length;
		const { edits, error } = await maskConversation(request);
		expect(error).toBeUndefined();
		const { text } = await restoreText({ text: writeEdits(document, edits).text, name: "it", archive, policy });
		expect(text).toBe(document.text);
		seen.restored += edits.length;
	},
);

afterAll(() => {
	expect(seen.masked).toBeGreaterThan(leastOfCases(150));
	expect(seen.guarded).toBeGreaterThan(leastOfCases(150));
	expect(seen.restored).toBeGreaterThan(leastOfCases(150));
});
