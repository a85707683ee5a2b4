import path from "node:path";
import type { JsonObject } from "../engine/conversation/json.ts";
import { objectOf } from "../formats/json-text/value.ts";
import {
	type Address,
	nothingSet,
	optionIn,
	redirectedFetch,
	refusedLaunch,
	sharedUpstreams,
	textAt,
} from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";
import { settingsIn } from "./settings-file.ts";

export const commandCode: Host = {
	name: "command-code",
	title: "Command Code",
	launch: { command: "command-code", point },
};

/**
 * Its own models have no address that can be set. Those of `providers.json` have, and no flag or variable names another file, so a mod
 * of this run sends their requests to the proxy. Source: its BYOK page, and `buildAiSdkTransport` and `--mod` of command-code 1.64.0.
 */
async function point({ homeFolder, origin, folder, parameters }: LaunchSurroundings): Promise<Pointing> {
	const file = path.join(homeFolder, ".commandcode", "providers.json");
	const providers = Object.entries(objectOf((await settingsIn(file)).provider));
	const model = optionIn(parameters, "-m", "--model") ?? "";
	const chosen = providers.filter(([name]) => model.startsWith(`${name}/`));
	const addresses = [...chosen, ...providers].flatMap(([, provider]) => addressesOf(objectOf(provider)));
	if (addresses.length === 0) {
		const reason = `only models with a key of your own take an address. Enter one by /connect, or in ${file}`;
		throw refusedLaunch(commandCode.title, reason);
	}
	const { upstreams, pointed } = sharedUpstreams(addresses, origin);
	const ways = addresses.map((address) => [address.base, pointed(address)] as const);
	const mod = "palimpsest-proxy.mjs";
	return {
		...nothingSet,
		upstreams,
		parameters: ["--mod", path.join(folder, mod)],
		// It asks for the function of `fetch` each time that it makes a model.
		files: { [mod]: `${redirectedFetch(ways)}export default () => {};\n` },
	};
}

/** The address of a provider, and those of its models that have their own. */
function addressesOf(provider: JsonObject): readonly Address[] {
	const { options, models, disabled, enabled } = provider;
	if (disabled === true || enabled === false) return [];
	const base = textAt(provider, ["baseURL"]) ?? textAt(options, ["baseURL"]);
	const api = apiOf(provider);
	const ofModels = Object.values(objectOf(models)).flatMap((model) => {
		const own = textAt(model, ["baseURL"]) ?? base;
		return own === undefined ? [] : [{ api: textAt(model, ["api"]) ? apiOf(objectOf(model)) : api, base: plain(own) }];
	});
	return base === undefined ? ofModels : [{ api, base: plain(base) }, ...ofModels];
}

function apiOf({ api, npm }: JsonObject): Address["api"] {
	return (api ?? (npm === "@ai-sdk/anthropic" ? "anthropic-messages" : undefined)) === "anthropic-messages"
		? "anthropic"
		: "openai";
}

const plain = (url: string) => url.replace(/\/+$/, "");
