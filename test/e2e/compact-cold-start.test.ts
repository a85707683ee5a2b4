import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { conversationNamed, lastingEndpoint } from "./compact-endpoint.ts";
import { compactSession, contentOf } from "./compact-session.ts";

/** Tells on standard error of each module that is loaded. */
const hooks = `
import { writeSync } from "node:fs";
export function load(url, context, next) {
	writeSync(2, "loaded " + url + "\\n");
	return next(url, context);
}
`;

it("compacting is loaded by the first call that compacts, and the client of an endpoint by the first that asks it", async () => {
	const folder = await scratchFolder();
	await writeFile(join(folder, "hooks.mjs"), hooks);
	const url = pathToFileURL(join(folder, "hooks.mjs")).href;
	await writeFile(join(folder, "register.mjs"), `import { register } from "node:module"; register("${url}");`);
	const endpoint = await lastingEndpoint();
	const session = await compactSession({
		environment: {
			NODE_OPTIONS: `--import=${pathToFileURL(join(folder, "register.mjs")).href}`,
			PALIMPSEST_LLM_URL: endpoint.baseUrl,
			PALIMPSEST_LLM_MODEL: "a-model",
		},
	});
	const root = `loaded ${pathToFileURL(packageFolder).href}/`;
	const loaded = () =>
		session
			.stderr()
			.split("\n")
			.flatMap((line) => (line.startsWith(root) ? [line.slice(root.length)] : []));
	const ofCompaction = () =>
		loaded().filter((path) =>
			/^dist\/(?:pipeline\/compaction|engine\/compaction|summariser|config\/load-strategy)/.test(path),
		);

	// By now the client has listed the tools.
	expect(loaded()).toContain("dist/mcp/tools/compact-conversation.js");
	// The variables of the environment are checked at the start, by one small file.
	expect(ofCompaction()).toEqual(["dist/summariser/summariser.js"]);

	const hiding = { messages: agentConversation(12), strategy: "tool-result-hiding" };
	expect(contentOf(await session.call("compact_conversation", hiding)).report).toMatchObject({ result: "hidden" });
	const after = ofCompaction();
	expect(after).toContain("dist/pipeline/compaction/compact-conversation.js");
	expect(after.filter((path) => /endpoint|load-strategy|sampling/.test(path))).toEqual([]);

	const asking = { messages: conversationNamed("asked"), strategy: "llm-summary" };
	expect(contentOf(await session.call("compact_conversation", asking)).report).toMatchObject({ result: "summarised" });
	expect(ofCompaction()).toContain("dist/summariser/endpoint.js");
	expect(ofCompaction().filter((path) => /load-strategy|sampling/.test(path))).toEqual([]);
});
