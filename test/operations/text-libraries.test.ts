import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";

const run = promisify(execFile);

it("loads the HTML library with the first page, and not before", async () => {
	const library = pathToFileURL(resolve(packageFolder, "dist/index.js")).href;
	const script = `
		import { createRequire } from "node:module";
		import { truncate, guard } from ${JSON.stringify(library)};
		const { cache } = createRequire(import.meta.url);
		const isLoaded = () => Object.keys(cache).some((file) => file.includes("html-to-text"));
		const policy = { preset: "balanced" };
		const found = [];
		const lines = "2026-01-01 10:00:00 INFO all is well\\n".repeat(2_000);
		found.push((await truncate(lines, { policy })).report.strategy, isLoaded());
		const page = "<!doctype html><html><body>" + "<p>words</p>\\n".repeat(2_000) + "</body></html>";
		const call = { id: "a", type: "function", function: { name: "fetch", arguments: "{}" } };
		const messages = (content) => [
			{ role: "user", content: "Go." },
			{ role: "assistant", content: null, tool_calls: [call] },
			{ role: "tool", tool_call_id: "a", content },
		];
		const options = { policy, contextWindow: 200_000 };
		found.push((await guard(messages(lines), options)).report.truncated_tool_results, isLoaded());
		const guarded = await guard(messages(page), options);
		found.push(guarded.conversation[2].content.startsWith("[HTML as text"), isLoaded());
		console.log(JSON.stringify(found));
	`;
	const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script]);
	expect(JSON.parse(stdout)).toEqual(["log", false, 1, false, true, true]);
});
