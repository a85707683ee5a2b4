import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import type { UpstreamApi } from "./host.ts";

// What hosts share that are pointed at another base URL.

export const providers = {
	anthropic: "https://api.anthropic.com",
	openai: "https://api.openai.com/v1",
	gemini: "https://generativelanguage.googleapis.com",
} as const;

/** For programs whose own paths have no version. */
export const versioned = {
	anthropic: `${providers.anthropic}/v1`,
	openai: providers.openai,
	gemini: `${providers.gemini}/v1beta`,
} as const;

export const nothingSet = { environment: {}, parameters: [], files: {} } as const;

export interface Address {
	readonly api: UpstreamApi;
	readonly base: string;
}

/**
 * The proxy has one upstream for each API: the first address of it. `pointed` gives the proxy's address for that one, and leaves
 * every other as it is, so that no key goes to a provider that it is not for.
 */
export function sharedUpstreams(addresses: readonly Address[], origin: string) {
	const upstreams: { [Name in UpstreamApi]?: string } = {};
	for (const { api, base } of addresses) upstreams[api] ??= base;
	const plain = (url = "") => url.replace(/\/+$/, "");
	const pointed = ({ api, base }: Address): string =>
		plain(base) === plain(upstreams[api]) ? withVersionOf(base, origin) : base;
	return { upstreams, pointed };
}

/** Code of JavaScript for a program that has no setting for an address: its requests to the first of two addresses go to the second. */
export function redirectedFetch(ways: readonly (readonly [string, string])[]): string {
	const changed = new Map(
		ways.map(([from, to]) => [from.replace(/\/+$/, ""), to] as const).filter(([from, to]) => from !== to),
	);
	return `const ways = ${JSON.stringify([...changed])};
const own = globalThis.fetch;
globalThis.fetch = (input, init) => {
	const asked = typeof input === "string" || input instanceof URL ? String(input) : undefined;
	const way = asked && ways.find(([from]) => asked === from || asked.startsWith(\`\${from}/\`));
	return own(way ? way[1] + asked.slice(way[0].length) : input, init);
};
`;
}

/** The last value of an option in the arguments of a user. */
export function optionIn(given: readonly string[], ...names: readonly string[]): string | undefined {
	return optionsGiven(given, ...names).at(-1)?.value;
}

interface GivenOption {
	readonly value: string;
	/** The place of its first word, and how many words it has. */
	readonly at: number;
	readonly words: 1 | 2;
}

/** The options of these names among the arguments before `--`: `-m VALUE`, `-mVALUE`, `--model VALUE`, `--model=VALUE`. */
export function optionsGiven(given: readonly string[], ...names: readonly string[]): readonly GivenOption[] {
	const options = beforeDashes(given);
	const found: GivenOption[] = [];
	let at = 0;
	while (at < options.length) {
		const option = optionAt(options, at, names);
		if (option) found.push(option);
		at += option?.words ?? 1;
	}
	return found;
}

function optionAt(given: readonly string[], at: number, names: readonly string[]): GivenOption | undefined {
	const word = given[at] as string;
	if (names.includes(word)) {
		const value = given[at + 1];
		return value === undefined ? undefined : { value, at, words: 2 };
	}
	const name = names.find((one) => word.startsWith(one.startsWith("--") ? `${one}=` : one));
	return name === undefined ? undefined : { value: word.slice(name.length).replace(/^=/, ""), at, words: 1 };
}

/** Those that may be options. */
export function beforeDashes(given: readonly string[]): readonly string[] {
	const end = given.indexOf("--");
	return end === -1 ? given : given.slice(0, end);
}

/** The proxy's address with the version that ends the address of the provider: programs append the paths of their requests. */
export function withVersionOf(base: string, origin: string): string {
	return origin + (/\/v1\w*(?=\/*$)/.exec(base)?.[0] ?? "");
}

/** Whether a variable is set, and not to no. */
export function isOn(value: string | undefined): boolean {
	return value !== undefined && !/^(?:|0|false)$/i.test(value);
}

export function refusedLaunch(title: string, reason: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", `${title} cannot be started behind a proxy: ${reason}.`);
}

/** The arguments of a user without some of these options. */
export function withoutOptions(given: readonly string[], options: readonly GivenOption[]): readonly string[] {
	return given.filter((_, index) => !options.some(({ at, words }) => index >= at && index < at + words));
}

export function textOf(value: unknown): string | undefined {
	return typeof value === "string" && value !== "" ? value : undefined;
}

export function textAt(value: unknown, key: readonly string[]): string | undefined {
	return textOf(key.reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), value));
}

/** Lays one object over another, member by member. */
export function laidOver(below: JsonObject, above: JsonObject): JsonObject {
	const merged: Record<string, unknown> = { ...below };
	for (const [name, value] of Object.entries(above)) {
		const old = merged[name];
		merged[name] = isJsonObject(old) && isJsonObject(value) ? laidOver(old, value) : value;
	}
	return merged;
}
