import { PalimpsestError } from "../errors.ts";
import { nothingSet, providers } from "./base-url.ts";
import type { LaunchedProgram, LaunchSurroundings, Pointing, UpstreamApi } from "./host.ts";

/** The variables by which most programs and SDKs are pointed at another base URL. */
export const usualVariables = [
	"ANTHROPIC_BASE_URL={proxy}",
	"OPENAI_BASE_URL={proxy}/v1",
	"OPENAI_API_BASE={proxy}/v1",
	"GOOGLE_GEMINI_BASE_URL={proxy}",
];

/**
 * A program that is not known here, and variables with the address of the proxy, such as `OPENAI_BASE_URL={proxy}/v1`. What a
 * variable held before is the upstream of the API in its name. Throws PalimpsestError `invalid_argument` for another form, and
 * where that upstream is not known, so that no key goes to a provider that it is not for.
 */
export function anyProgram(
	command: string,
	variables: readonly string[],
	upstreams: Pointing["upstreams"],
): LaunchedProgram {
	const set = variables.map(readVariable);
	const point = async ({ environment, origin }: LaunchSurroundings): Promise<Pointing> => {
		const own: { [Name in UpstreamApi]?: string } = {};
		for (const { name, api } of set) {
			const value = environment[name];
			if (!value || (api && upstreams[api] !== undefined)) continue;
			if (api !== undefined && (own[api] ?? value) === value) own[api] = value;
			else if (api !== undefined) throw unknownUpstream(name, "holds another address than a variable of the same API");
			else if (Object.keys(upstreams).length === 0)
				throw unknownUpstream(name, "holds an address, and its name says no API");
		}
		const isNamed = (api: string) => set.some((one) => one.api === undefined || one.api === api);
		const usual = Object.entries(providers).filter(([api]) => isNamed(api));
		const all: Pointing["upstreams"] = { ...Object.fromEntries(usual), ...own, ...upstreams };
		const without = set.find(({ api }) => api !== undefined && all[api] === undefined);
		if (without) throw unknownUpstream(without.name, "holds no address, and its cloud has no usual one");
		return {
			...nothingSet,
			upstreams: all,
			environment: Object.fromEntries(set.map(({ name, template }) => [name, template.replaceAll("{proxy}", origin)])),
		};
	};
	// Whether its shell is a login shell is not known.
	return { name: command, title: command, command, hasLoginShell: true, point };
}

function readVariable(variable: string) {
	const [, name, template] = /^(\w+)=(.+)$/.exec(variable) ?? [];
	if (name !== undefined && template?.includes("{proxy}")) return { name, template, api: apiNamedIn(name) };
	const message = "Expected --env as NAME=URL with {proxy} in it, such as OPENAI_BASE_URL={proxy}/v1.";
	throw new PalimpsestError("invalid_argument", message);
}

function unknownUpstream(name: string, reason: string): PalimpsestError {
	const message = `${name} ${reason}. Name the provider, such as --upstream openai=URL.`;
	return new PalimpsestError("invalid_argument", message);
}

function apiNamedIn(name: string): UpstreamApi | undefined {
	if (/anthropic|claude/i.test(name)) {
		if (/vertex/i.test(name)) return "vertex";
		return /bedrock(?!_?mantle)/i.test(name) ? "bedrock" : "anthropic";
	}
	if (/gemini|google/i.test(name)) return "gemini";
	return /openai/i.test(name) ? "openai" : undefined;
}
