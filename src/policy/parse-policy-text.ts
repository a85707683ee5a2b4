import { parse, TomlError } from "smol-toml";
import { checkPolicyLayer } from "./check-policy.ts";
import { invalidPolicy } from "./invalid-policy.ts";
import type { PolicyLayer } from "./policy-layer.ts";

/**
 * The layer that a policy file's TOML makes. `source` is the file's path, for the error.
 *
 * @throws PalimpsestError `invalid_policy`: the line and column of what is no TOML, or every key that cannot be used.
 */
export function parsePolicyText(text: string, source: string): PolicyLayer {
	let value: unknown;
	try {
		value = parse(text);
	} catch (error) {
		if (!(error instanceof TomlError)) throw error;
		const reason = error.message.split("\n", 1)[0]?.replace(/^Invalid TOML document: /, "");
		throw invalidPolicy(source, [`line ${error.line}, column ${error.column}: not valid TOML (${reason})`]);
	}
	return checkPolicyLayer(value, source);
}
