import { readdirSync, readFileSync } from "node:fs";
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

it("the first compacting call loads the compaction code, and the first call that asks an endpoint loads its client", async () => {
	const folder = await scratchFolder();
	await writeFile(join(folder, "hooks.mjs"), hooks);
	const url = pathToFileURL(join(folder, "hooks.mjs")).href;
	await writeFile(join(folder, "register.mjs"), `import { register } from "node:module"; register("${url}");`);
	const endpoint = await lastingEndpoint();
	const session = await compactSession({
		inProcess: true,
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
	const defining = (name: string) => {
		const definition = new RegExp(`function ${name}\\(`);
		const dist = join(packageFolder, "dist");
		const found = readdirSync(dist).filter(
			(file) => /\.js$/.test(file) && definition.test(readFileSync(join(dist, file), "utf8")),
		);
		expect(found, name).toHaveLength(1);
		return `dist/${found[0]}`;
	};
	const compacting = defining("compactConversation");
	const endpointClient = defining("createOpenAiCompatible");
	const unused = [defining("checkStrategy"), defining("createSamplingSummariser")];

	// By now the client has listed the tools.
	expect(loaded()).toContain("dist/cli.js");
	expect(loaded().filter((path) => [compacting, endpointClient, ...unused].includes(path))).toEqual([]);

	const hiding = { messages: agentConversation(12), strategy: "tool-result-hiding" };
	expect(contentOf(await session.call("compact_conversation", hiding)).report).toMatchObject({ result: "hidden" });
	expect(loaded()).toContain(compacting);
	expect(loaded()).not.toContain(endpointClient);

	const asking = { messages: conversationNamed("asked"), strategy: "llm-summary" };
	expect(contentOf(await session.call("compact_conversation", asking)).report).toMatchObject({ result: "summarised" });
	expect(loaded()).toContain(endpointClient);
	expect(loaded().filter((path) => unused.includes(path))).toEqual([]);
});
