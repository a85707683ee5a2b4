import path from "node:path";
import type { JsonObject } from "../engine/conversation/json.ts";
import { objectOf } from "../formats/json-text/value.ts";
import {
	type Address,
	nothingSet,
	optionIn,
	providers,
	redirectedFetch,
	refusedLaunch,
	sharedUpstreams,
	textAt,
	versioned,
} from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const letta: Host = {
	name: "letta",
	title: "Letta Code",
	launch: { command: "letta", point },
};

interface Provider {
	/** Its models begin with it, and a provider of that name or with `lc-` before it may be entered. */
	readonly name: string;
	readonly entry?: string;
	readonly api: Address["api"];
	readonly base?: string;
	readonly variable?: string;
}

/** Source: `PI_PROVIDER_OVERRIDES` and the catalogue of @letta-ai/letta-code 0.32.18. */
const known: readonly Provider[] = [
	{ name: "anthropic", api: "anthropic", base: providers.anthropic },
	{ name: "openai", api: "openai", base: providers.openai },
	{
		name: "google",
		entry: "lc-gemini",
		api: "gemini",
		base: versioned.gemini,
		variable: "GOOGLE_GENERATIVE_AI_BASE_URL",
	},
	{ name: "openai-compatible", api: "openai" },
	{ name: "openrouter", api: "openai", base: "https://openrouter.ai/api/v1", variable: "OPENROUTER_BASE_URL" },
	{ name: "deepseek", api: "openai", base: "https://api.deepseek.com" },
	{ name: "xai", api: "openai", base: "https://api.x.ai/v1" },
	{
		name: "moonshotai",
		entry: "lc-moonshot",
		api: "openai",
		base: "https://api.moonshot.ai/v1",
		variable: "MOONSHOT_BASE_URL",
	},
	{ name: "kimi-coding", entry: "lc-kimi-code", api: "anthropic", base: "https://api.kimi.com/coding" },
	{ name: "minimax", api: "anthropic", base: "https://api.minimax.io/anthropic", variable: "MINIMAX_BASE_URL" },
];

/**
 * In its local mode it sends its model's requests itself. The addresses are in a file beside its sign-ins, which it renews, and its
 * sessions go by the folder of that file; so none of it is copied, and a module that Node.js loads first changes the addresses of
 * requests. Source: `resolvePiModelForAgent` and `getLocalBackendSettingsKey` of @letta-ai/letta-code 0.32.18.
 */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { homeFolder, environment, origin, parameters } = where;
	const settings = await settingsIn(path.join(homeFolder, ".letta", "settings.json"));
	if (!isLocal(where, settings)) {
		const reason =
			"its models are called by Letta's service. It calls them itself in its local mode: add --backend local, or enter letta backend local";
		throw refusedLaunch(letta.title, reason);
	}
	const storage = environment.LETTA_LOCAL_BACKEND_DIR ?? path.join(homeFolder, ".letta", "lc-local-backend");
	const entered = objectOf((await settingsIn(path.join(storage, "providers", "auth.json"))).providers);
	const entryOf = ({ name, entry = `lc-${name}` }: Provider) => entered[name] ?? entered[entry];
	const model = optionIn(parameters, "-m", "--model") ?? (await modelOfAgent(where, settings, storage)) ?? "";
	// The proxy has one upstream for each API: that of the model, else of a provider that the user has entered.
	const rank = (one: Provider) => (model.startsWith(`${one.name}/`) ? 0 : entryOf(one) === undefined ? 2 : 1);
	const addresses = known
		.toSorted((one, other) => rank(one) - rank(other))
		.flatMap((one): Address[] => {
			// What the user has entered wins over the variable.
			const base = textAt(entryOf(one), ["base_url"]) ?? ((one.variable && environment[one.variable]) || one.base);
			return base === undefined ? [] : [{ api: one.api, base }];
		});
	const { upstreams, pointed } = sharedUpstreams(addresses, origin);
	const ways = addresses.map((address) => [address.base, pointed(address)] as const);
	const own = environment.NODE_OPTIONS;
	// A dry run shows it, so the addresses stay readable.
	const module = `data:text/javascript,${encodeURI(moduleText(ways, own)).replaceAll(/[#?]/g, encodeURIComponent)}`;
	return {
		...nothingSet,
		upstreams,
		environment: { NODE_OPTIONS: [...(own ? [own] : []), `--import=${module}`].join(" ") },
	};
}

/** Without a word of the user it asks Letta's service. Source: `main2` and `resolveSubcommandBackendMode` of the same. */
function isLocal({ environment, parameters }: LaunchSurroundings, settings: JsonObject): boolean {
	const flag = optionIn(parameters, "--backend");
	if (flag !== undefined) return flag === "local";
	const agent = optionIn(parameters, "-a", "--agent");
	if (agent !== undefined) return agent.startsWith("agent-local-");
	const variable = environment.LETTA_LOCAL_BACKEND_EXPERIMENTAL;
	if (variable !== undefined) return /^(?:1|true)$/i.test(variable);
	const service = environment.LETTA_BASE_URL || textAt(settings, ["env", "LETTA_BASE_URL"]);
	return settings.preferredBackendMode === "local" && (service === undefined || service === "https://api.letta.com");
}

/** The agent of the arguments, of the last session in this folder, or of the user's last one. */
async function modelOfAgent(
	{ projectFolder = ".", parameters }: LaunchSurroundings,
	settings: JsonObject,
	storage: string,
): Promise<string | undefined> {
	const ofProject = await settingsIn(path.join(projectFolder, ".letta", "settings.local.json"));
	const last = ["sessionsByServer", `local:${path.resolve(storage)}`, "agentId"];
	const agent = optionIn(parameters, "-a", "--agent") ?? textAt(ofProject, last) ?? textAt(settings, last);
	if (agent === undefined) return undefined;
	const file = `${Buffer.from(agent).toString("base64url")}.json`;
	return textAt(await settingsIn(path.join(storage, "agents", file)), ["model"]);
}

/** Programs that the agent starts get the variable as the user has set it; a subagent is the program itself, and gets ours. */
function moduleText(ways: readonly (readonly [string, string])[], own: string | undefined): string {
	return `import processes from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
const isLetta = (file) => /(?:^|[\\\\/])letta(?:\\.js)?$/.test(file);
if (isLetta(process.argv[1])) {
	const { NODE_OPTIONS } = process.env;
	${own ? `process.env.NODE_OPTIONS = ${JSON.stringify(own)}` : "delete process.env.NODE_OPTIONS"};
	const { spawn } = processes;
	processes.spawn = (command, given, options) =>
		spawn(command, given, [command].concat(given).some(isLetta) ? { ...options, env: { ...(options?.env ?? process.env), NODE_OPTIONS } } : options);
	syncBuiltinESMExports();
${redirectedFetch(ways)}}
`;
}
