import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { atLeast, isWhole } from "../../support/breadth.ts";
import { chosenFiles, hasRealData, realDataFolder } from "../../support/real-conversations.ts";
import { findKept, shorten, strategies } from "./shorten.ts";

const folder = join(realDataFolder, "outputs");
const files = hasRealData ? chosenFiles(readdirSync(folder).filter((name) => name !== "index.json")) : [];
const budgets = [120, 2_000, 16_000];
const failureTokens = 2_000;
/** How test runners and tools begin the line of a failure: written apart from the rules that are tested. */
const failure =
	/^(?:FAILED |ERROR |FAIL: |ERROR: |FAIL |not ok |E {3}\S|(?:×|✗) |❯ .*\bfailed\b|AssertionError|\w+Error: |npm ERR! |npm error |fatal: |.*\*\*\* |--- FAIL)/;
/** Longer lines are kept in part. */
const longestLine = 1_000;
const seen = { cuts: 0, json: 0, failures: 0, logs: 0, byStrategy: new Set<string>() };

describe.skipIf(!hasRealData)("real outputs", () => {
	it.each(files)(
		"%s keeps the promises with every strategy",
		(file) => {
			const text = readFileSync(join(folder, file), "utf8");
			for (const [place, strategy] of strategies.entries()) {
				const some = [budgets[(files.indexOf(file) + place) % budgets.length] as number];
				for (const max of isWhole ? budgets : some) {
					const cut = shorten(text, max, { strategy, focus: strategy === "focus" ? "error in parse config" : "" });
					expect(cut.text.length).toBeLessThanOrEqual(max);
					expect(cut.text.isWellFormed()).toBe(true);
					expect(cut.text).not.toBe("");
					expect(shorten(cut.text, max, { strategy }).truncated).toBe(false);
					if (cut.strategy !== "json" && !text.includes("\u001b")) expect(findKept(text, cut)).toBeDefined();
					if (file.endsWith(".json") && (strategy === "auto" || strategy === "json")) {
						expect(() => JSON.parse(cut.text)).not.toThrow();
						seen.json += 1;
					}
					if (strategy === "auto") seen.byStrategy.add(cut.strategy);
					seen.cuts += 1;
				}
			}
		},
		120_000,
	);

	it.each(files.filter((file) => /log|traceback|ansi\.txt/.test(file) && !/git|html/.test(file)))(
		"%s keeps the line of every distinct failure at 2 000 tokens, if all of them fit",
		async (file) => {
			const countTokens = await loadCounter("o200k_base");
			const text = stripVTControlCharacters(readFileSync(join(folder, file), "utf8"));
			const lines = text.split("\n").map((line) => line.trim());
			const failures = [...new Set(lines.filter((line) => failure.test(line) && line.length <= longestLine))];
			const cut = shorten(text, 0, { budget: { unit: "tokens", max: failureTokens, countTokens } });
			expect(cut.strategy).toBe("log");
			expect(cut.tokens?.after).toBeLessThanOrEqual(failureTokens);
			const kept = new Set(cut.text.split("\n").map((line) => line.trim()));
			const lost = failures.filter((line) => !kept.has(line));
			seen.logs += 1;
			seen.failures += failures.length - lost.length;
			if (countTokens(failures.join("\n")) < failureTokens * 0.7) expect(lost).toEqual([]);
			else expect(failures.length - lost.length).toBeGreaterThan(40);
		},
		120_000,
	);

	afterAll(() => {
		const perBudget = isWhole ? 1 : budgets.length;
		expect(seen.cuts).toBeGreaterThan(atLeast(900) / perBudget);
		expect(seen.json).toBeGreaterThan(atLeast(45) / perBudget);
		expect(seen.logs).toBeGreaterThan(atLeast(12));
		expect(seen.failures).toBeGreaterThan(atLeast(200));
		for (const strategy of ["json", "log", "diff", "table", "binary"]) expect(seen.byStrategy).toContain(strategy);
	});
});
