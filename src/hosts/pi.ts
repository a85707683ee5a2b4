import path from "node:path";
import { isJsonObject } from "../engine/conversation/json.ts";
import type { ValueEdit } from "../formats/json-text/edit.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";
import { nothingSet, providers, textAt, versioned, withVersionOf } from "./base-url.ts";
import type { Host, HostSurroundings, LaunchSurroundings, Pointing } from "./host.ts";
import { shellWord } from "./own-command.ts";
import { outputIn, replaceUsage } from "./session-usage.ts";
import { settingsIn } from "./settings-file.ts";

/** Its MCP, which pi 0.74 does not have, hides tools in scripts by default, so the extension brings them. */
export const pi: Host = {
	name: "pi",
	title: "pi",
	hook: {
		kind: "plugin",
		// Source: docs/extensions.md of `@earendil-works/pi-coding-agent`.
		file: (where) => {
			const folder = where.projectFolder ? path.join(where.projectFolder, ".pi") : ownFolder(where);
			return path.join(folder, "extensions", "palimpsest.js");
		},
		module: "pi-extension.js",
		code: "export default async (pi) => (await import(plugin)).default(pi, options);\n",
	},
	ownPlugin: {
		// Source: docs/packages.md of `@earendil-works/pi-coding-agent`. A package is a name, or an object with it.
		file: (where) => path.join(ownFolder(where), "settings.json"),
		isOn: ({ packages }) =>
			listOf(packages).some((one) => /^npm:palimpsest-mcp(?:@|$)/.test(String(isJsonObject(one) ? one.source : one))),
		brings: ["hook"],
		removedBy: "pi remove npm:palimpsest-mcp",
	},
	launch: { command: "pi", withoutTool: "pi --exclude-tools NAME", point, headless: (prompt) => ["-p", prompt] },
	session: {
		format: "pi",
		sessionId: (document) => {
			const [header, first] = listOf(document);
			// Letta Code writes pi's records, and finds a session by files beside them.
			const isOther = textAt(first, ["message", "metadata", "conversation_id"]) !== undefined;
			return isOther ? undefined : stringAt(objectOf(header), "id");
		},
		folder: (document) => stringAt(objectOf(listOf(document)[0]), "cwd"),
		name: ({ id, now }) => `${now.toISOString().replace(/[:.]/g, "-")}_${id}.jsonl`,
		command: ({ file }) => `pi --session ${shellWord(file)}`,
		usage,
	},
};

/** The folder of its own settings. */
function ownFolder({ homeFolder, environment }: Pick<HostSurroundings, "homeFolder" | "environment">): string {
	return environment.PI_CODING_AGENT_DIR || path.join(homeFolder, ".pi", "agent");
}

/** pi's own settings hold keys and sessions, so an extension of this run changes the addresses alone (docs/custom-provider.md of pi). */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { origin, folder } = where;
	const models = await settingsIn(path.join(ownFolder(where), "models.json"));
	const bases = { anthropic: providers.anthropic, openai: providers.openai, google: versioned.gemini };
	const named = Object.entries(bases).map(
		([name, usual]) => [name, textAt(models, ["providers", name, "baseUrl"]) ?? usual] as const,
	);
	const [anthropic = "", openai = "", gemini = ""] = named.map(([, base]) => base);
	const calls = named.map(
		([name, base]) => `\tpi.registerProvider("${name}", { baseUrl: "${withVersionOf(base, origin)}" });\n`,
	);
	const file = "palimpsest-proxy.js";
	return {
		...nothingSet,
		upstreams: { anthropic, openai, gemini },
		parameters: ["--extension", path.join(folder, file)],
		files: { [file]: `export default function (pi) {\n${calls.join("")}}\n` },
	};
}

function usage(document: unknown, tokens: number): ValueEdit[] {
	const messages = listOf(document).map((record) => objectOf(objectOf(record).message));
	const index = messages.findLastIndex(
		({ role, usage, stopReason }) => role === "assistant" && isJsonObject(usage) && stopReason !== "error",
	);
	return replaceUsage([index, "message", "usage"], messages[index]?.usage, (usage) => {
		return { input: tokens, cacheRead: 0, cacheWrite: 0, totalTokens: tokens + outputIn(usage) };
	});
}
