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
		const before: { [Name in UpstreamApi]?: string } = {};
		for (const { name } of set) {
			const value = environment[name];
			if (!value) continue;
			const api = apiNamedIn(name);
			if (api === undefined && Object.keys(upstreams).length === 0)
				throw unknownUpstream(name, "holds an address, and its name says no API");
			if (api === undefined || upstreams[api] !== undefined) continue;
			if ((before[api] ?? value) !== value)
				throw unknownUpstream(name, "holds another address than a variable of the same API");
			before[api] = value;
		}
		return {
			...nothingSet,
			upstreams: { ...providers, ...before, ...upstreams },
			environment: Object.fromEntries(set.map(({ name, template }) => [name, template.replaceAll("{proxy}", origin)])),
		};
	};
	// Whether its shell is a login shell is not known.
	return { name: command, title: command, command, hasLoginShell: true, point };
}

function readVariable(variable: string) {
	const [, name, template] = /^(\w+)=(.+)$/.exec(variable) ?? [];
	if (name !== undefined && template?.includes("{proxy}")) return { name, template };
	const message = "Expected --env as NAME=URL with {proxy} in it, such as OPENAI_BASE_URL={proxy}/v1.";
	throw new PalimpsestError("invalid_argument", message);
}

function unknownUpstream(name: string, reason: string): PalimpsestError {
	const message = `${name} ${reason}. Name the provider, such as --upstream openai=URL, or unset ${name}.`;
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
