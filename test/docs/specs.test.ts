import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { followUps } from "../../src/engine/compaction/prompt.ts";
import { frameSummary } from "../../src/engine/compaction/summary.ts";
import { localeNames } from "../../src/engine/policy/names.ts";
import { locales } from "../../src/engine/policy/wordings.ts";
import { packageFolder } from "../support/built-cli.ts";
import { anchorsOf, pages } from "./markdown.ts";

const textOf = (path: string) => pages.find((page) => page.path === path)?.text ?? "";

/** Every text in a table of wordings. */
function textsIn(value: unknown): string[] {
	if (typeof value === "string") return [value.trim()];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe("the wordings", () => {
	const inEveryLocale = Object.values(locales).map((words) => [
		words.unknown_tool,
		words.recall_hint,
		...[words, words.archived].map((own) => [own.placeholder, own.short_placeholder, own.truncation_marker]),
	]);

	const frames = localeNames.flatMap((locale) =>
		[undefined, "{ref}"].flatMap((ref) => frameSummary({ summary: "", locale, ref }).split("\n\n")),
	);

	it.each([
		["strategies", "all placeholders, hints and markers", inEveryLocale],
		["compaction", "all requests for a more concise answer", followUps],
		["compaction", "all summary frames", frames],
	])("the page on %s gives %s word for word", (page, _, table) => {
		const texts = textsIn(table);
		expect(texts.length).toBeGreaterThan(2);
		expect(texts.filter((one) => !textOf(`docs/${page}.md`).includes(one))).toEqual([]);
	});
});

describe("the citations", () => {
	const cited = ["src", "test"].flatMap((folder) =>
		readdirSync(join(packageFolder, folder), { recursive: true, encoding: "utf8" })
			.filter((path) => path.endsWith(".ts") && !path.includes("node_modules"))
			.flatMap((path) => {
				const file = `${folder}/${path}`;
				// Pages of other projects are cited as those "of" them, or by an address.
				const found = readFileSync(join(packageFolder, file), "utf8").matchAll(
					/(?<![\w./-])docs\/([\w/-]+\.md)(?! of )(?:#([\w-]+))?/g,
				);
				return Array.from(found, ([, page, anchor]) => ({ file, path: `docs/${page}`, anchor }));
			}),
	);

	it("name an existing page and rule", () => {
		expect(cited.length).toBeGreaterThan(100);
		const broken = cited.filter(({ path, anchor }) => {
			const page = pages.find((one) => one.path === path);
			return !page || (anchor !== undefined && !anchorsOf(page).includes(anchor));
		});
		expect(broken).toEqual([]);
	});

	it.each(["docs/strategies.md", "docs/compaction.md"])("cover %s in the sources and in the tests", (path) => {
		const reached = new Set(cited.filter((one) => one.path === path).map(({ file }) => file.split("/")[0]));
		expect([...reached].sort()).toEqual(expect.arrayContaining(["src", "test"]));
	});
});
