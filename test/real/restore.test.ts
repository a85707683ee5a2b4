import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import type { Outcome } from "../../src/operations/conversation.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";
import { atLeast } from "../support/breadth.ts";
import { policyOf } from "../support/policy-of.ts";
import { chosenConversations, conversationsFolder, hasRealData } from "../support/real-conversations.ts";

const files = chosenConversations();

const maskings: readonly PolicyLayer[] = [
	{ mask: { window_turns: 1, keep_errors: false } },
	{ locale: "en", media: "mask", mask: { window_turns: 3 } },
];
const small = { max_tool_result_chars: 1_500, truncate_head_chars: 300, truncate_tail_chars: 300 };
// A window that holds everything, so that results are cut and none is dropped; then one that takes masking too.
const guards: readonly PolicyLayer[] = [
	{ guard: { ...small, truncate_when: "always" } },
	{ locale: "zh", guard: { ...small, ladder: ["truncate", "mask"] } },
	{ preset: "context-trim", guard: { ladder: ["truncate"] } },
];

const count = { conversations: 0, masked: 0, cut: 0, restored: 0, dropped: 0, groups: 0 };

describe.skipIf(!hasRealData)("every real conversation is restored byte for byte", () => {
	it.each(files)("%s", async (file) => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const document = readTextDocument(readFileSync(join(conversationsFolder, file), "utf8"), "a real conversation");
		const request = {
			conversation: document.value,
			archive,
			spellingsOf: (paths: Parameters<typeof spellingsOf>[1]) => spellingsOf(document, paths),
		};
		const check = async ({ edits, error }: Outcome<unknown>, layer: PolicyLayer) => {
			expect(error).toBeUndefined();
			const { text } = writeEdits(document, edits);
			const back = await restoreText({ text, archive, policy: policyOf(layer), name: "the text" });
			expect(back.report).toMatchObject({ missing: [], ambiguous: [], without_reference: [] });
			expect(back.text === document.text).toBe(true);
			count.masked += edits.filter(({ reason }) => reason === "mask").length;
			count.cut += edits.filter(({ reason }) => reason === "truncate").length;
			count.restored += back.report.restored;
		};
		count.conversations += 1;
		for (const layer of maskings) await check(await maskConversation({ ...request, policy: policyOf(layer) }), layer);
		for (const layer of guards) {
			const contextWindow = layer.locale === "zh" ? 9_000 : 10_000_000;
			await check(await guardConversation({ ...request, policy: policyOf(layer), contextWindow }), layer);
		}
		const policy = policyOf({ guard: { ladder: ["drop"], truncate_when: "over_budget" } });
		const { report, edits } = await guardConversation({ ...request, policy, contextWindow: 12_000 });
		for (const { ref, messages } of report.dropped_groups ?? []) {
			const { text, kind } = await archive.get(ref);
			expect(kind).toBe("group");
			expect((JSON.parse(text) as unknown[]).length).toBeGreaterThanOrEqual(messages.length);
			count.groups += 1;
		}
		count.dropped += new Set(edits.flatMap(({ reason, message }) => (reason === "drop" ? [message] : []))).size;
		expect(edits.filter(({ reason }) => reason === "drop").every(({ ref }) => ref !== undefined)).toBe(true);
	});

	afterAll(() => {
		process.stderr.write(`Restored to the byte: ${JSON.stringify(count)}\n`);
		expect(count.masked).toBeGreaterThan(atLeast(5_000));
		expect(count.cut).toBeGreaterThan(atLeast(1_000));
		expect(count.groups).toBeGreaterThan(atLeast(1_000));
	});
});
