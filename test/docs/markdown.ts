import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { packageFolder } from "../support/built-cli.ts";

/** A page of the documentation. */
export interface Page {
	/** Path within the checkout. */
	readonly path: string;
	readonly text: string;
}

/** The pages at the top and everything in `docs/`. */
export const pages: readonly Page[] = [
	"README.md",
	"CHANGELOG.md",
	"SECURITY.md",
	"CONTRIBUTING.md",
	"AGENTS.md",
	"SKILL.md",
	"llms.txt",
	...readdirSync(join(packageFolder, "docs"), { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".md"))
		.map((name) => `docs/${name.replaceAll("\\", "/")}`),
].map((path) => ({ path, text: readFileSync(join(packageFolder, path), "utf8") }));

/** The commands of a page's shell blocks, those over several lines in one, without their comments. */
export function commandsOf({ text }: Page): string[] {
	return Array.from(text.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block = ""]) => block)
		.flatMap((block) => block.replace(/\\\n\s*/g, "").split("\n"))
		.map((line) => line.replace(/(?:^|\s)#\s.*$/, "").trim())
		.filter((line) => line !== "");
}

/** Where the links of a page lead that are within the checkout: path and anchor. */
export function innerLinks({ path, text }: Page): { readonly path: string; readonly anchor: string | undefined }[] {
	const prose = text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
	return Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target)
		.filter((target) => !/^[a-z]+:/i.test(target))
		.map((target) => {
			const [file = "", anchor] = target.split("#");
			return { path: file === "" ? path : relative(".", join(dirname(path), file)), anchor };
		});
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf({ text }: Page): string[] {
	const headings = text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#{1,6} (.+)$/gm);
	const seen = new Map<string, number>();
	return Array.from(headings, ([, heading = ""]) => {
		const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
		const slug = plain
			.toLowerCase()
			.replace(/[^\p{L}\p{N}\s_-]/gu, "")
			.trim()
			.replace(/\s/g, "-");
		const times = seen.get(slug) ?? 0;
		seen.set(slug, times + 1);
		return times === 0 ? slug : `${slug}-${times}`;
	});
}
