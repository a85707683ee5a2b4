import { beforeEach, describe, expect, it } from "vitest";
import { valueAt } from "../../src/engine/conversation/paths.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { recallOriginal } from "../../src/operations/recall.ts";
import { reportContext } from "../../src/operations/report.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";
import { protocolConversation, protocolSamples } from "../support/text-protocols.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

const spelled = (document: unknown) =>
	JSON.stringify(document, null, 1).replaceAll("fox", "f\\u006fx").replaceAll("jumps", "jumps\\u00e9");

/** The text that an operation makes of a text, as the command does. */
async function edited(text: string, layer: PolicyLayer, operation: typeof maskConversation | typeof guardConversation) {
	const document = readTextDocument(text, "the text");
	const outcome = await operation({
		conversation: document.value,
		policy: policyOf(layer),
		archive,
		spellingsOf: (paths) => spellingsOf(document, paths),
	});
	expect(outcome.error).toBeUndefined();
	const written = writeEdits(document, outcome.edits).text;
	expect(JSON.parse(written)).toEqual(outcome.conversation);
	return { ...outcome, text: written };
}

describe.each(protocolSamples)("Observations (docs/strategies.md#observations): $name", (sample) => {
	const conversation = protocolConversation(sample);
	const paths = (edits: readonly { readonly path: string }[]) => edits.map(({ path }) => path);
	const contentOf = (message: unknown) => JSON.stringify((message as { content: unknown }).content);

	it("those older than the window are masked, under the preset of the command", async () => {
		const { edits, report } = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 3 } }) });
		expect(report).toMatchObject({ tool_turns: 6, tool_results: 6, masked_tool_results: 3 });
		expect(paths(edits).map((path) => path.split("/")[1])).toEqual(["2", "4", "6"]);
	});

	it("nothing but them changes, and no promise is broken", async () => {
		const policy = policyOf({ mask: { window_turns: 1 } });
		const { conversation: after, report } = await maskConversation({ conversation, policy });
		const messages = after as typeof conversation;
		expect(report.masked_tool_results).toBe(5);
		for (const [index, message] of messages.entries()) {
			if (index === 0 || index % 2 === 1 || index === 12) expect(message).toBe(conversation[index]);
			else {
				const texts = sample.observation(`f${index / 2 - 1}.py`, "OUTPUT").flatMap((text) => text.split("OUTPUT"));
				const [first = "", last = ""] = [texts[0], texts.at(-1)];
				expect(contentOf(message)).not.toContain("quick brown");
				expect(contentOf(message)).toContain(JSON.stringify(first.slice(0, 10)).slice(1, -1));
				if (sample.name.startsWith("SWE-agent") || sample.name === "Roo Code") {
					expect(contentOf(message)).toContain(JSON.stringify(last.trimStart()).slice(1, -1));
				}
			}
		}
	});

	it("masking twice is masking once, and each edit stays with more messages", async () => {
		const policy = policyOf({ mask: { window_turns: 2 } });
		let earlier: readonly string[] = [];
		for (let length = 1; length <= conversation.length; length += 1) {
			const once = await maskConversation({ conversation: conversation.slice(0, length), policy });
			const now = once.edits.map((edit) => JSON.stringify(edit));
			expect(now).toEqual(expect.arrayContaining([...earlier]));
			expect((await maskConversation({ conversation: once.conversation, policy })).edits).toEqual([]);
			earlier = now;
		}
		expect(earlier).toHaveLength(4);
	});

	it("errors stay, and what is shorter than its placeholder", async () => {
		const outputs = [`${outputOf("a")}\nTraceback: no fox\n`, "ok", ...Array.from({ length: 3 }, () => outputOf("b"))];
		const given = protocolConversation(sample, outputs);
		const { edits, report } = await maskConversation({
			conversation: given,
			policy: policyOf({ mask: { window_turns: 1 } }),
		});
		expect(report.kept.error).toBe(1);
		const short = edits.find(({ path }) => path.startsWith("/4/"));
		// What Aider and mini-swe-agent write around the output may take more than the placeholder.
		if (short) expect(short.after.tokens).toBeLessThan(short.before.tokens);
		expect(
			paths(edits)
				.filter((path) => !path.startsWith("/4/"))
				.map((path) => path.split("/")[1]),
		).toEqual(["6", "8"]);
	});

	it.each<[string, PolicyLayer, typeof maskConversation | typeof guardConversation]>([
		["masked", { mask: { window_turns: 1 } }, maskConversation],
		["masked in another locale", { locale: "zh", mask: { window_turns: 1, digest_tokens: 60 } }, maskConversation],
		[
			"cut",
			{
				mask: { window_turns: 0 },
				guard: {
					max_tool_result_chars: 900,
					truncate_head_chars: 200,
					truncate_tail_chars: 200,
					context_window_override: 90_000,
				},
			},
			guardConversation,
		],
		[
			"cut by structure",
			{ preset: "balanced", guard: { max_tool_result_chars: 900, context_window_override: 90_000 } },
			guardConversation,
		],
	])("%s, they are restored to the byte, escapes included", async (_, layer, operation) => {
		const before = spelled(conversation);
		const after = await edited(before, layer, operation);
		expect(after.edits.length).toBeGreaterThan(4);
		expect(after.text.length).toBeLessThan(before.length);
		const { last, report } = await restoreText({ text: after.text, name: "it", archive, policy: policyOf(layer) }).then(
			(restored) => ({ last: restored.text, report: restored.report }),
		);
		expect(last).toBe(before);
		expect(report.missing).toEqual([]);
	});

	it("they are recalled by reference", async () => {
		const policy = policyOf({ mask: { window_turns: 1 } });
		const { edits, conversation: after } = await maskConversation({ conversation, policy, archive });
		const [first] = edits;
		const placeholder = String(valueAt(after, (first?.path ?? "").split("/").slice(1)));
		const ref = /réf=([\w-]+)/.exec(placeholder)?.[1];
		const recalled = await recallOriginal({ archive, policy, ref });
		expect(recalled).toMatchObject({ kind: "part", part: { tool_name: sample.tool } });
		expect(JSON.stringify(recalled)).toContain("turn 0 line 3");
	});

	it("the guard masks and drops them with their actions until all fits", async () => {
		const {
			report,
			conversation: after,
			error,
		} = await guardConversation({
			conversation,
			policy: policyOf({ guard: { reserve_tokens: 0 }, mask: { window_turns: 4 } }),
			contextWindow: 1_900,
		});
		expect(error).toBeUndefined();
		expect(report.fits).toBe(true);
		const { messages } = readConversation(after).transcript;
		const counts = messages.map(({ calls, results }) => calls.length - results.length).slice(1);
		expect(counts.filter((_, index) => index % 2 === 0).every((count) => count === 1)).toBe(true);
		expect(counts.filter((_, index) => index % 2 === 1).every((count) => count === -1)).toBe(true);
	});

	it.each(["tool-result-hiding", "llm-summary"] as const)(
		"%s hides or summarises them with their actions",
		async (name) => {
			const {
				report,
				error,
				edits,
				conversation: after,
			} = await compactConversation({
				conversation,
				policy: policyOf({ locale: "en" }),
				strategy: { kind: "built_in", name },
				answer: { kind: "summariser", summariser: standInSummariser() },
				force: true,
				archive,
			});
			expect(error).toBeUndefined();
			expect(report.changed).toBe(true);
			if (name === "tool-result-hiding") expect(edits).toMatchObject([{ reason: "mask", tool_name: sample.tool }]);
			else expect((after as typeof conversation).slice(-2)).toEqual(conversation.slice(-2));
		},
	);

	it("they are in the report of the context", async () => {
		const report = await reportContext({ conversation, layers: [] });
		expect(JSON.stringify(report)).toContain(`"tool":"${sample.tool}"`);
	});

	it("with `false` nothing is a result", async () => {
		const policy = policyOf({ mask: { window_turns: 1, observations: false } });
		expect((await maskConversation({ conversation, policy })).report).toMatchObject({
			changed: false,
			tool_results: 0,
		});
	});
});
