import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, expect, it } from "vitest";
import { bashResponse, claudeCodeEvent, logOf } from "../support/hook-events.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});

/** What a hook's process loads while it answers an event. */
async function loadedBy(event: string): Promise<{ readonly files: readonly string[]; readonly text: string }> {
	const [list, hooks, register] = ["loaded.txt", "hooks.mjs", "register.mjs"].map((name) => join(folder, name));
	const recorded = `import { appendFileSync } from "node:fs";
export async function load(url, context, next) {
	appendFileSync(${JSON.stringify(list)}, url + "\\n");
	return next(url, context);
}`;
	await writeFile(hooks as string, recorded);
	const url = JSON.stringify(pathToFileURL(hooks as string).href);
	await writeFile(register as string, `import { register } from "node:module";\nregister(${url});\n`);
	const { text } = await runCli(["hook", "claude-code"], {
		folder,
		input: event,
		environment: {
			PALIMPSEST_ARCHIVE: join(folder, "archive"),
			NODE_OPTIONS: `--import ${pathToFileURL(register as string).href}`,
		},
	});
	return { files: (await readFile(list as string, "utf8")).trim().split("\n"), text };
}

const slow = /node_modules\/(?:zod|commander|gpt-tokenizer|smol-toml|re2js|jsonc-parser|@modelcontextprotocol)\//;

it("loads almost nothing for a small result", async () => {
	const { files, text } = await loadedBy(claudeCodeEvent("Bash", { command: "ls" }, bashResponse("small")));
	expect(text).toBe("");
	expect(files.filter((file) => file.startsWith("file:") && !file.endsWith("register.mjs")).length).toBeLessThan(16);
});

it("loads no schema, tokenizer or command line for a large result", async () => {
	const { files, text } = await loadedBy(claudeCodeEvent("Bash", { command: "npm test" }, bashResponse(logOf(4_000))));
	expect(text).toContain("updatedToolOutput");
	expect(files.length).toBeGreaterThan(30);
	expect(files.filter((file) => slow.test(file))).toEqual([]);
});

it("cuts a page as text, without the slow library that reads pages", async () => {
	const page = `<!doctype html><html><body>${"<p>One of many paragraphs.</p>\n".repeat(4_000)}</body></html>`;
	const { files, text } = await loadedBy(claudeCodeEvent("Bash", { command: "curl x" }, bashResponse(page)));
	const shown: string = JSON.parse(text).hookSpecificOutput.updatedToolOutput.stdout;
	expect(shown.length).toBeLessThanOrEqual(16_000);
	expect(shown).toContain("<p>One of many paragraphs.</p>");
	// A package that is no ES module is loaded without the hooks of the loader, its entry by name.
	expect(files.filter((file) => /html-to-text|htmlparser2/.test(file))).toEqual([]);
});
