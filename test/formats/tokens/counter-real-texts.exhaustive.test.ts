import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { atLeast } from "../../support/breadth.ts";
import { chosenFiles, hasRealData, realDataFolder } from "../../support/real-conversations.ts";
import { createOracle } from "./heap-oracle.ts";
import { isSameEverywhere, reference, tableNames, tiktoken } from "./reference.ts";

/** gpt-tokenizer, the slower reference, counts every eighth text. */
const oneOf = 8;
/** tiktoken counts every fourth text in the encoding of today's models, and every eighth in the older one. */
const oneOfTiktoken = { o200k_base: 4, cl100k_base: 8 } as const;
/** Both references take quadratic time for a long piece; the oracle counts texts with a longer one. */
const longestForReferences = 2000;

describe.skipIf(!hasRealData).each(tableNames)("the %s counter on real texts", (name) => {
	it("agrees with tiktoken, gpt-tokenizer and the oracle", async () => {
		const count = await loadCounter(name);
		const oracle = createOracle(name);
		const seen = { texts: 0, long: 0, asked: 0 };
		for (const text of realTexts()) {
			seen.texts++;
			const counted = count(text);
			if (text.length > longestForReferences && oracle.longestPiece(text) > longestForReferences) {
				seen.long++;
				if (counted !== oracle.count(text)) expect([text.length, counted]).toEqual([text.length, oracle.count(text)]);
				continue;
			}
			if (seen.texts % oneOfTiktoken[name] !== 0) continue;
			if (counted !== tiktoken[name](text)) expect([text.length, counted]).toEqual([text.length, tiktoken[name](text)]);
			if (seen.texts % oneOf !== 0 || !isSameEverywhere(text)) continue;
			seen.asked++;
			const other = reference[name](text.toWellFormed());
			if (counted !== other) expect([text.length, counted]).toEqual([text.length, other]);
		}
		expect(seen.texts).toBeGreaterThan(atLeast(10_000));
		expect(seen.asked).toBeGreaterThan((seen.texts * 0.99) / oneOf - seen.long);
	}, 240_000);
});

/** Every string of the chosen conversations, keys among them, and of the recorded outputs; each once. */
function realTexts(): Set<string> {
	const texts = new Set<string>();
	const files = readdirSync(realDataFolder, { recursive: true, encoding: "utf8" });
	for (const file of chosenFiles(
		files.filter((name) => name.includes(".")),
		dirname,
	)) {
		const text = readFileSync(join(realDataFolder, file), "utf8");
		if (file.startsWith("conversations")) addStrings(JSON.parse(text), texts);
		else texts.add(text);
	}
	return texts;
}

function addStrings(value: unknown, texts: Set<string>): void {
	if (typeof value === "string") texts.add(value);
	if (typeof value !== "object" || value === null) return;
	for (const [key, child] of Object.entries(value)) {
		texts.add(key);
		addStrings(child, texts);
	}
}
