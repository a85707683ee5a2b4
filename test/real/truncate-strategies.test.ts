import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";
import { atLeast } from "../support/breadth.ts";
import { isJson } from "../support/is-json.ts";
import { policyOf } from "../support/policy-of.ts";
import { chosenConversations, conversationsFolder, hasRealData } from "../support/real-conversations.ts";

const files = chosenConversations();

const layers: readonly PolicyLayer[] = [
	{ preset: "balanced" },
	{ preset: "balanced", locale: "fr", guard: { max_tool_result_chars: 3_000, truncate_when: "always" } },
];
const seen = { conversations: 0, cut: 0, restored: 0, focused: 0, json: 0, kept: 0 };

/** What stands in the place of a result: a text, or a list that holds nothing but one. */
const textOf = (replacement: unknown) =>
	Array.isArray(replacement) ? String(replacement[0]?.text) : String(replacement);

describe.skipIf(!hasRealData)("every real conversation, with its large results cut by strategy", () => {
	it.each(files)("%s", async (file) => {
		const document = readTextDocument(readFileSync(join(conversationsFolder, file), "utf8"), "a real conversation");
		seen.conversations += 1;
		for (const layer of layers) {
			const archive = (await openArchive({ where: "memory" })) as Archive;
			const policy = policyOf(layer);
			const most = policy.guard.max_tool_result_chars;
			const guard = (conversation: unknown, contextWindow = 100_000_000) =>
				guardConversation({
					conversation,
					policy,
					archive,
					contextWindow,
					recall: "offered",
					spellingsOf: (paths) => spellingsOf(document, paths),
				});
			const { conversation, edits, error, report } = await guard(document.value);
			expect(error).toBeUndefined();
			expect(report.fits).toBe(true);
			expect(edits.every(({ reason }) => reason === "truncate")).toBe(true);
			for (const { replacement, before, after, ref } of edits) {
				expect(after.chars).toBeLessThan(before.chars);
				expect(after.tokens).toBeLessThanOrEqual(before.tokens);
				const text = textOf(replacement);
				expect(text.length).toBeLessThanOrEqual(most);
				expect(text.isWellFormed()).toBe(true);
				expect(text).toContain(ref);
				const original = (await archive.get(ref ?? "")).text;
				if (/^\s*[[{]/.test(text) && isJson(original)) {
					expect(isJson(text)).toBe(true);
					seen.json += 1;
				}
				if (/^\[(?:Output shortened|Sortie abrégée)/.test(text)) seen.focused += 1;
			}
			expect((await guard(conversation)).edits).toEqual([]);
			const { text } = writeEdits(document, edits);
			const back = await restoreText({ text, archive, policy, name: "the text" });
			expect(back.report.missing).toEqual([]);
			expect(back.text === document.text).toBe(true);
			// A second copy of an output costs no tokens, and is restored with the output.
			seen.cut += edits.filter(({ before }) => before.tokens > 0).length;
			seen.restored += back.report.restored;
			const tight = await guard(document.value, 24_000);
			expect(tight.error).toBeUndefined();
			const cuts = new Map(edits.map(({ path, replacement }) => [path, replacement]));
			for (const { path, reason, replacement } of tight.edits) {
				if (reason !== "truncate") continue;
				const wide = cuts.get(path);
				// Before messages are dropped, the largest results are cut further.
				const isFurther = textOf(replacement).length < (wide === undefined ? most : textOf(wide).length);
				if (!isFurther) expect(replacement).toEqual(wide);
				seen.kept += Number(!isFurther);
			}
		}
	});

	afterAll(() => {
		process.stderr.write(`Cut by what matters: ${JSON.stringify(seen)}\n`);
		expect(seen.cut).toBeGreaterThan(atLeast(500));
		expect(seen.restored).toBeGreaterThanOrEqual(seen.cut);
		expect(seen.focused).toBeGreaterThan(atLeast(250));
		expect(seen.kept).toBeGreaterThan(atLeast(100));
	});
});
