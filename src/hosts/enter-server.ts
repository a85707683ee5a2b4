import { enterJson, entryInJson, removeFromJson } from "../json-text/settings.ts";
import { enterToml, entryInToml } from "./enter-toml.ts";
import type { Host, ServerStart } from "./host.ts";

/** A host whose configuration can be written to. */
export type WritableHost = Host & { readonly format: "json" | "toml" };

/**
 * The text of a host's configuration with the server entered, in the place of an entry of ours that is there; all else
 * stays as it is.
 *
 * @throws PalimpsestError `invalid_json` for a text that is not what the host reads.
 */
export function enterServer(text: string, host: WritableHost, start: ServerStart): string {
	const entry = host.entry(start);
	return host.format === "json"
		? enterJson(text, host.key, entry)
		: enterToml(text, host.key, entry as Readonly<Record<string, unknown>>);
}

/** The text without our entry. */
export function removeServer(text: string, host: WritableHost): string {
	return host.format === "json" ? removeFromJson(text, host.key) : enterToml(text, host.key, undefined);
}

/** Whether the server is entered there. */
export function hasServer(text: string, host: WritableHost): boolean {
	return (host.format === "json" ? entryInJson(text, host.key) : entryInToml(text, host.key)) !== undefined;
}
