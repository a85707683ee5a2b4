import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";
import { pages } from "./markdown.ts";

const named = /\[[^\]]*\]\(([^)]+\.ts)\)((?:[:,] (?:"[^"]*"(?:, )?)+)?)/g;

/** The tests that a page names, as `[name](file): "words of its title"`. */
const testsOf = ({ path, text }: (typeof pages)[number]) =>
	Array.from(text.matchAll(named), ([, file = "", titles = ""]) => ({
		file: join(packageFolder, dirname(path), file),
		titles: Array.from(titles.matchAll(/"([^"]*)"/g), ([, title = ""]) => title),
	}));

it("SECURITY.md names tests that exist, by words of their titles", () => {
	const page = pages.find(({ path }) => path === "SECURITY.md");
	const tests = page ? testsOf(page) : [];
	expect(tests.length).toBeGreaterThan(80);
	const missing = tests.flatMap(({ file, titles }) => {
		const source = readFileSync(file, "utf8");
		return titles.filter((title) => !source.includes(title)).map((title) => `${file}: ${title}`);
	});
	expect(missing).toEqual([]);
});

it("each attack in SECURITY.md has its test beside it", () => {
	const rows = pages.find(({ path }) => path === "SECURITY.md")?.text.match(/^\| (?!attack ).*$/gm) ?? [];
	expect(rows.length).toBeGreaterThan(80);
	expect(rows.filter((row) => !/\.ts\): "/.test(row))).toEqual([]);
});
