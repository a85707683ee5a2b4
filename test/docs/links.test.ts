import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";
import { anchorsOf, innerLinks, pages } from "./markdown.ts";

describe.each(pages.map((page) => [page.path, page] as const))("%s", (_, page) => {
	it("has links with existing targets", () => {
		const broken = innerLinks(page).filter(({ path, anchor }) => {
			if (!existsSync(join(packageFolder, path))) return true;
			if (anchor === undefined) return false;
			const target = { path, text: readFileSync(join(packageFolder, path), "utf8") };
			return !anchorsOf(target).includes(anchor);
		});
		expect(broken).toEqual([]);
	});

	it("names existing files", () => {
		const prose = page.text.replace(/^```[\s\S]*?^```$/gm, "");
		const named = Array.from(prose.matchAll(/`([^`\n]*)`/g), ([, code = ""]) => code.split(/\s+/)).flat();
		const paths = named.flatMap((word) => /^(?:src|test|docs|examples|scripts)\/[\w./-]+/.exec(word) ?? []);
		expect(paths.filter((path) => !existsSync(join(packageFolder, path)))).toEqual([]);
	});

	it("links to other sites by https", () => {
		const prose = page.text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
		const links = Array.from(prose.matchAll(/(?:\]\(|<)([a-z]+:\/\/[^)>\s]+)/g), ([, link = ""]) => link);
		expect(links.filter((link) => !URL.canParse(link) || !link.startsWith("https://"))).toEqual([]);
	});
});

it("every page is linked from another page", () => {
	const reached = new Set(pages.flatMap((page) => innerLinks(page).map(({ path }) => path)));
	expect(pages.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !reached.has(path))).toEqual([]);
	expect(reached.size).toBeGreaterThan(10);
});
