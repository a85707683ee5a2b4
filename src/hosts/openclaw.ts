import path from "node:path";
import { objectOf } from "../formats/json-text/value.ts";
import { type Address, nothingSet, optionIn, providers, sharedUpstreams, textAt, versioned } from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { readSettingsFile, textIn } from "./settings-file.ts";

export const openclaw: Host = {
	name: "openclaw",
	title: "OpenClaw",
	launch: { command: "openclaw", point },
};

const usual: Readonly<Record<string, Address>> = {
	anthropic: { api: "anthropic", base: providers.anthropic },
	openai: { api: "openai", base: versioned.openai },
	google: { api: "gemini", base: versioned.gemini },
};

const apis: Readonly<Record<string, Address["api"]>> = {
	"anthropic-messages": "anthropic",
	"openai-completions": "openai",
	"openai-responses": "openai",
	"google-generative-ai": "gemini",
};

/**
 * A file of this run includes the user's own and lays addresses over it; its state and sign-ins stay where they are. A gateway that
 * runs already is another process, and keeps its addresses. Source: its pages on configuration (`$include`, `OPENCLAW_INCLUDE_ROOTS`) and
 * on custom providers, and OpenClaw 2026.9.6 itself.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { homeFolder, environment, origin, folder, parameters } = where;
	const profile =
		optionIn(parameters, "--profile") ?? (parameters.includes("--dev") ? "dev" : environment.OPENCLAW_PROFILE);
	const ofProfile = profile && profile !== "default" ? `.openclaw-${profile}` : ".openclaw";
	const state = environment.OPENCLAW_STATE_DIR || path.join(homeFolder, ofProfile);
	const file = environment.OPENCLAW_CONFIG_PATH || path.join(state, "openclaw.json");
	const isThere = (await textIn(file)) !== undefined;
	const settings = isThere ? await readSettingsFile(file) : {};
	const { models, agents } = objectOf(settings);
	const named = objectOf(objectOf(models).providers);
	const all = [...new Set([...Object.keys(named), ...Object.keys(usual)])].flatMap((name): [string, Address][] => {
		const api = apis[textAt(named[name], ["api"]) ?? ""] ?? usual[name]?.api ?? "openai";
		const base = textAt(named[name], ["baseUrl"]) ?? usual[name]?.base;
		return base === undefined ? [] : [[name, { api, base }]];
	});
	const model = textAt(agents, ["defaults", "model", "primary"]) ?? textAt(agents, ["defaults", "model"]) ?? "";
	const sorted = [...all.filter(([name]) => model.startsWith(`${name}/`)), ...all];
	const { upstreams, pointed } = sharedUpstreams(
		sorted.map(([, address]) => address),
		origin,
	);
	const changed = all.flatMap(([name, address]) => {
		const baseUrl = pointed(address);
		// It wants a list of models, and adds those of the catalogue to an empty one.
		const models = Array.isArray(objectOf(named[name]).models) ? {} : { models: [] };
		return baseUrl === address.base ? [] : [[name, { baseUrl, ...models }] as const];
	});
	const own = "openclaw.json";
	const roots = [path.dirname(file), environment.OPENCLAW_INCLUDE_ROOTS ?? ""].filter(Boolean).join(path.delimiter);
	return {
		...nothingSet,
		upstreams,
		environment: {
			OPENCLAW_CONFIG_PATH: path.join(folder, own),
			OPENCLAW_INCLUDE_ROOTS: roots,
			// The state is beside the file unless it is named.
			OPENCLAW_STATE_DIR: state,
		},
		files: {
			[own]: JSON.stringify({
				...(isThere ? { $include: path.resolve(file) } : {}),
				models: { providers: Object.fromEntries(changed) },
			}),
		},
	};
}
