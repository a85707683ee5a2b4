import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { followUps, handoverWordings } from "../../src/compaction/prompt.ts";
import { frameWordings } from "../../src/compaction/summary.ts";
import { excerptWordings, locales } from "../../src/policy/wordings.ts";
import { packageFolder } from "../support/built-cli.ts";
import { anchorsOf, pages } from "./markdown.ts";

const specs = pages.filter(({ path }) => path.startsWith("docs/specs/"));

/** Every text in a table of wordings. */
function textsIn(value: unknown): string[] {
	if (typeof value === "string") return [value.trim()];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe("the wordings", () => {
	const text = specs.map((page) => page.text).join("\n");

	it.each([
		["placeholders, markers and notices", locales],
		["notices of streams", excerptWordings],
		["requests for a more concise answer", followUps],
		["summary prompts", handoverWordings],
		["summary frames", frameWordings],
	])("the specs give all %s word for word", (_, table) => {
		const texts = textsIn(table);
		expect(texts.length).toBeGreaterThan(2);
		expect(texts.filter((one) => !text.includes(one))).toEqual([]);
	});
});

describe("the citations", () => {
	const cited = ["src", "test"].flatMap((folder) =>
		readdirSync(join(packageFolder, folder), { recursive: true, encoding: "utf8" })
			.filter((path) => path.endsWith(".ts"))
			.flatMap((path) => {
				const file = `${folder}/${path}`;
				const found = readFileSync(join(packageFolder, file), "utf8").matchAll(
					/docs\/specs\/([\w-]+)\.md(?:#([\w-]+))?/g,
				);
				return Array.from(found, ([, page = "", anchor]) => ({ file, path: `docs/specs/${page}.md`, anchor }));
			}),
	);

	it("name an existing page and rule", () => {
		const broken = cited.filter(({ path, anchor }) => {
			const page = specs.find((one) => one.path === path);
			return !page || (anchor !== undefined && !anchorsOf(page).includes(anchor));
		});
		expect(broken).toEqual([]);
	});

	it("cover every spec in the sources and in the tests", () => {
		for (const folder of ["src/", "test/"]) {
			const reached = new Set(cited.filter(({ file }) => file.startsWith(folder)).map(({ path }) => path));
			expect([...reached].sort()).toEqual(specs.map(({ path }) => path).sort());
		}
	});
});
