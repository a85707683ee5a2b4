import { isJsonObject, type JsonObject } from "../conversation/json.ts";
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

/** The value of an option in the arguments of a user: `-m NAME`, `--model NAME`, `--model=NAME`. The last one counts. */
export function optionIn(given: readonly string[], ...names: readonly string[]): string | undefined {
	return optionsIn(given, ...names).at(-1);
}

export function optionsIn(given: readonly string[], ...names: readonly string[]): string[] {
	return given.flatMap((word, index) => {
		const name = names.find((one) => word === one || word.startsWith(`${one}=`));
		return (name && (word === name ? given[index + 1] : word.slice(name.length + 1))) ?? [];
	});
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

/** The arguments of a user without an option and its value. */
export function withoutOption(given: readonly string[], name: string): readonly string[] {
	return given.filter((word, index) => word !== name && !word.startsWith(`${name}=`) && given[index - 1] !== name);
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
