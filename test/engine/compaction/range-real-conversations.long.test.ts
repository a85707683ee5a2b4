import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { lostIdentifiers, textsOfMessages } from "../../../src/engine/compaction/lost-identifiers.ts";
import { writeHandoverPrompt } from "../../../src/engine/compaction/prompt.ts";
import { pickRange, renderRange } from "../../../src/engine/compaction/range.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { atLeast } from "../../support/breadth.ts";
import { deepFreeze } from "../../support/deep-freeze.ts";
import { chosenFiles, hasRealData, realDataFolder } from "../../support/real-conversations.ts";
import { checkRange } from "./range-checks.ts";

const root = join(realDataFolder, "conversations");

const folders = hasRealData ? readdirSync(root) : [];

const countTokens = await loadCounter("o200k_base");

const budgets = [300, 4_000, 60_000];

const seen = {
	conversations: 0,
	picked: 0,
	rendered: 0,
	shortened: 0,
	leftOut: 0,
	identifiers: 0,
	formats: new Set<string>(),
};

describe.skipIf(!hasRealData)("real conversations: the summarised range", () => {
	it.each(folders)("%s", (folder) => {
		for (const name of chosenFiles(readdirSync(join(root, folder)))) {
			const document: unknown = JSON.parse(readFileSync(join(root, folder, name), "utf8"));
			const { transcript } = readConversation(deepFreeze(document));
			seen.conversations += 1;
			for (const keepLastMessages of [2, 5]) {
				const range = pickRange({ transcript, keepLastMessages, pinTask: true });
				if (!range) continue;
				seen.picked += 1;
				seen.formats.add(transcript.format);
				checkRange(transcript, range, keepLastMessages);
				if (keepLastMessages === 5) continue;
				for (const budget of budgets) {
					const { messages } = range;
					const rendered = renderRange({
						transcript,
						messages,
						budget,
						countTokens,
						marker: "[... {omitted_chars} ...]",
					});
					expect(rendered.tokens, name).toBeLessThanOrEqual(budget);
					expect(rendered.tokens).toBe(countTokens(rendered.text));
					expect(rendered.text.isWellFormed()).toBe(true);
					expect(rendered.pieces.length + rendered.leftOut).toBeLessThanOrEqual(messages.length + 1);
					const prompt = writeHandoverPrompt({
						pieces: rendered.pieces,
						locale: "fr",
						maxTokens: 1_000,
						of: "messages",
					});
					expect(prompt.split(rendered.text).length).toBe(2);
					seen.rendered += 1;
					if (rendered.shortened > 0) seen.shortened += 1;
					if (rendered.leftOut > 0) seen.leftOut += 1;
				}
				const texts = textsOfMessages(transcript, range.messages);
				const { lost, found, lostCount } = lostIdentifiers({ texts, summary: "" });
				expect(lost.length).toBe(Math.min(20, found));
				expect(lostCount).toBe(found);
				expect(lostIdentifiers({ texts, summary: texts.join("\n") }).lostCount).toBe(0);
				seen.identifiers += found;
			}
		}
	});

	afterAll(() => {
		expect(seen.conversations).toBeGreaterThan(atLeast(100));
		expect(seen.picked).toBeGreaterThan(atLeast(200));
		expect(seen.formats.size).toBeGreaterThanOrEqual(10);
		expect(seen.rendered).toBeGreaterThan(atLeast(300));
		expect(Math.min(seen.shortened, seen.leftOut)).toBeGreaterThan(atLeast(50));
		expect(seen.identifiers).toBeGreaterThan(atLeast(1_000));
	});
});
