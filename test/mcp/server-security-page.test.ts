import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const page = resolve(import.meta.dirname, "../../docs/operations.md");
const [, attacks = ""] = readFileSync(page, "utf8").split("\n## Attacks\n");
const rows = attacks
	.split("\n")
	.filter((line) => line.startsWith("| ") && !line.startsWith("| attack "))
	.map((line) => line.split(" | "));

test("the page on operations has a row for each attack, with three columns", () => {
	expect(rows.length).toBeGreaterThan(25);
	for (const row of rows) expect(row).toHaveLength(3);
});

test.each(rows)("%s: the tests that the page names exist", (_attack, _outcome, tests) => {
	const named = [...String(tests).matchAll(/\]\((?<file>[^)]+)\): (?<titles>(?:"[^"]+"(?:, )?)+)/g)];
	expect(named.length).toBeGreaterThan(0);
	for (const { groups } of named) {
		const text = readFileSync(resolve(page, "..", String(groups?.file)), "utf8");
		for (const [, title] of String(groups?.titles).matchAll(/"([^"]+)"/g)) expect(text).toContain(title);
	}
});
