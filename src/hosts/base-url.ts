import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { PalimpsestError } from "../errors.ts";

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
