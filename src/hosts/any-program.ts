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
 * variable held before is the upstream of the API in its name. Throws PalimpsestError `invalid_argument` for another form.
 */
export function anyProgram(
	command: string,
	variables: readonly string[],
	upstreams: Pointing["upstreams"],
): LaunchedProgram {
	const set = variables.map(readVariable);
	const point = async ({ environment, origin }: LaunchSurroundings): Promise<Pointing> => {
		const before = set.flatMap(({ name }) => {
			const [api, value] = [apiNamedIn(name), environment[name]];
			return api && value ? [[api, value] as const] : [];
		});
		return {
			...nothingSet,
			upstreams: { ...providers, ...Object.fromEntries(before), ...upstreams },
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

function apiNamedIn(name: string): UpstreamApi | undefined {
	if (/anthropic|claude/i.test(name)) return "anthropic";
	if (/gemini|google/i.test(name)) return "gemini";
	return /openai/i.test(name) ? "openai" : undefined;
}
