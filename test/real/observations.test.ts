import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData, realDataFolder } from "../support/real-conversations.ts";

const folders = ["raw/swe-agent-traj", "conversations/roo-code"].map((name) => join(realDataFolder, name));
const files = hasRealData ? folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name))) : [];

/** As the programs write it, and with each character outside ASCII escaped. */
const spellings = [
	(text: string) => text,
	(text: string) => text.replace(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
];

describe.skipIf(!hasRealData)("real transcripts of agents without tool calls", () => {
	it.each(files)("%s", async (file) => {
		for (const spell of spellings) {
			const document = readTextDocument(spell(readFileSync(file, "utf8")), "a real transcript");
			const archive = (await openArchive({ where: "memory" })) as Archive;
			const policy = policyOf({ mask: { window_turns: 3 } });
			const request = {
				conversation: document.value,
				policy,
				archive,
				spellingsOf: (paths: Parameters<typeof spellingsOf>[1]) => spellingsOf(document, paths),
			};
			const masked = await maskConversation(request);
			expect(masked.error).toBeUndefined();
			expect(masked.report.tool_results).toBe(masked.report.tool_turns);
			expect(masked.report.masked_tool_results).toBeGreaterThan(0);
			const { text } = await restoreText({ ...request, text: writeEdits(document, masked.edits).text, name: "it" });
			expect(text).toBe(document.text);
			for (const contextWindow of [2_000, 8_000, 32_000]) {
				const { error, report } = await guardConversation({ ...request, contextWindow, reserveTokens: 200 });
				expect(error).toBeUndefined();
				expect(report.tokens.after).toBeLessThanOrEqual(report.tokens.before);
			}
		}
	});
});
