import { createHash } from "node:crypto";

/** What a page forbids and what it carries, read from its source as a browser splits it. */
export function readPage(html: string) {
	const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html)?.[1] ?? "";
	const contents = (tag: string) =>
		Array.from(html.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, "g")), (found) => found[1] ?? "");
	const hashes = (directive: string) =>
		new RegExp(`${directive} ([^;]*)`)
			.exec(policy)?.[1]
			?.split(" ")
			.map((hash) => hash.replaceAll("'", "")) ?? [];
	return {
		policy,
		scripts: contents("script"),
		styles: contents("style"),
		scriptHashes: hashes("script-src"),
		styleHashes: hashes("style-src"),
		data: JSON.parse(/<script type="application\/json" id="data">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? "null"),
		/** Addresses that stand anywhere in it. */
		addresses: [...new Set(html.match(/\b(?:https?|wss?|ftp):\/\/[^\s"'`)<]*/g) ?? [])].sort(),
	};
}

export function hashOf(source: string): string {
	return `sha256-${createHash("sha256").update(source).digest("base64")}`;
}
