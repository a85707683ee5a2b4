import { randomUUID } from "node:crypto";
import path from "node:path";
import type { ValueEdit } from "../formats/json-text/edit.ts";
import { listOf, objectOf, sha256Of, stringAt } from "../formats/json-text/value.ts";
import { laidOver, nothingSet, textAt, versioned, withVersionOf } from "./base-url.ts";
import {
	configFolder,
	type Host,
	type HostSurroundings,
	type LaunchSurroundings,
	ofProject,
	type Pointing,
	usualServer,
} from "./host.ts";
import { shellWord } from "./own-command.ts";
import { outputIn, type Place, replaceUsage } from "./session-usage.ts";
import { settingsIn } from "./settings-file.ts";

export const opencode: Host = {
	name: "opencode",
	title: "opencode",
	server: {
		...usualServer,
		key: ["mcp", "palimpsest"],
		file: ofProject(["opencode.json"], (where) => path.join(ownFolder(where), "opencode.json")),
		entry: ({ command, args, env: environment }) => {
			return { type: "local", command: [command, ...args], environment, enabled: true };
		},
		afterwards: "Start opencode again.",
		source: "https://opencode.ai/docs/mcp-servers",
	},
	hook: {
		kind: "plugin",
		// Source: https://opencode.ai/docs/plugins.
		file: (where) => {
			const folder = where.projectFolder ? path.join(where.projectFolder, ".opencode") : ownFolder(where);
			return path.join(folder, "plugins", "palimpsest.js");
		},
		module: "opencode-plugin.js",
		// Both plugin APIs: 1.x calls `server`, 2.x calls `setup`.
		code: `export default {
	id: "palimpsest",
	server: async (input) => {
		try {
			return await (await import(plugin)).default.server(input, options);
		} catch (error) {
			const message = "The plugin was not loaded: " + error;
			await input?.client?.app?.log?.({ body: { service: "palimpsest", level: "error", message } });
			return {};
		}
	},
	setup: async (context) => (await import(plugin)).default.setup(context, options),
};
`,
	},
	ownPlugin: {
		// Source: https://opencode.ai/docs/plugins.
		file: (where) => path.join(ownFolder(where), "opencode.json"),
		isOn: ({ plugin }) => listOf(plugin).some((one) => /^palimpsest-mcp(?:@|$)/.test(String(one))),
		brings: ["hook"],
		removedBy: "taking palimpsest-mcp out of `plugin`",
	},
	launch: {
		command: "opencode",
		withoutTool: '"permission": { "NAME": "deny" } in opencode.json',
		point,
		headless: (prompt) => ["run", prompt],
	},
	session: {
		format: "opencode",
		given: "the output of `opencode export`",
		sessionId: (document) => stringAt(objectOf(objectOf(document).info), "id"),
		folder: (document) => stringAt(objectOf(objectOf(document).info), "directory"),
		name: ({ name }) => `${name.replace(/\.json$/, "")}-rescued.json`,
		command: ({ id, file }) => `opencode import ${shellWord(file)} && opencode --session ${id}`,
		usage,
		// Its sessions are listed by their ids, which descend; its messages are sent in the order of theirs.
		newId: (old) => withNewEnd(old, randomUUID()),
		renamed: { ids: /"((?:msg|prt)_[0-9a-f]{12}[0-9A-Za-z]{14})"/g, newId: withNewEnd },
	},
};

/** The folder of its own settings. */
function ownFolder(where: Pick<HostSurroundings, "homeFolder" | "environment">): string {
	return path.join(configFolder(where), "opencode");
}

/** Source: https://opencode.ai/docs/config (`OPENCODE_CONFIG_CONTENT` is laid over every file). */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, projectFolder = "." } = where;
	const files = [ownFolder(where), projectFolder].flatMap((at) =>
		["opencode.json", "opencode.jsonc"].map((name) => path.join(at, name)),
	);
	if (environment.OPENCODE_CONFIG) files.splice(2, 0, environment.OPENCODE_CONFIG);
	return pointByContent(where, { variable: "OPENCODE_CONFIG_CONTENT", files });
}

/** Overrides the addresses of the settings in `files` (the last one wins) by a variable that wins over all of them. */
export async function pointByContent(
	{ environment, origin }: LaunchSurroundings,
	{ variable: content, files }: { readonly variable: string; readonly files: readonly string[] },
): Promise<Pointing> {
	const settings = await Promise.all(files.map(settingsIn));
	const { readSettings } = await import("../formats/json-text/settings.ts");
	const inline = readSettings(environment[content] ?? "");
	const bases = { anthropic: versioned.anthropic, openai: versioned.openai, google: versioned.gemini };
	const named = Object.entries(bases).map(([name, usual]) => {
		const found = [...settings, inline].map((one) => textAt(one, ["provider", name, "options", "baseURL"]));
		const variable = name === "google" ? undefined : environment[`${name.toUpperCase()}_BASE_URL`];
		return [name, found.findLast((url) => url !== undefined) ?? (variable || usual)] as const;
	});
	const provider = Object.fromEntries(
		named.map(([name, base]) => [name, { options: { baseURL: withVersionOf(base, origin) } }]),
	);
	const [anthropic = "", openai = "", gemini = ""] = named.map(([, base]) => base);
	return {
		...nothingSet,
		upstreams: { anthropic, openai, gemini },
		environment: { [content]: JSON.stringify(laidOver(inline, { provider })) },
	};
}

/** The first 16 characters are the kind and the time of an id, by which it sorts. */
function withNewEnd(old: string, seed: string): string {
	return old.slice(0, 16) + sha256Of(`${old} ${seed}`).slice(0, 14);
}

function usage(document: unknown, tokens: number): ValueEdit[] {
	const messages = listOf(objectOf(document).messages).map(objectOf);
	const index = messages.findLastIndex(({ info }) => {
		const { role, tokens: used } = objectOf(info);
		return role === "assistant" && outputIn(objectOf(used)) > 0;
	});
	const { info, parts } = messages[index] ?? {};
	const edit = (path: Place, before: unknown) =>
		replaceUsage(["messages", index, ...path], before, (usage) => {
			return { input: tokens, cache: { read: 0, write: 0 }, total: tokens + outputIn(usage) };
		});
	const steps = listOf(parts).flatMap((part, place) =>
		objectOf(part).type === "step-finish" ? edit(["parts", place, "tokens"], objectOf(part).tokens) : [],
	);
	return [...edit(["info", "tokens"], objectOf(info).tokens), ...steps];
}
