import { parse } from "smol-toml";
import { inspectPolicyLayer, type PolicyInspection } from "./inspect-policy-layer.ts";

/**
 * One field set by a dotted key and a text. The text is read as a TOML value; where it is none, it is taken as it
 * stands, except for `null`, which TOML lacks.
 */
export function parseSetting(key: string, text: string): PolicyInspection {
	const value = readValue(text);
	return inspectPolicyLayer(
		key.split(".").reduceRight<unknown>((inner, part) => Object.fromEntries([[part, inner]]), value),
	);
}

function readValue(text: string): unknown {
	if (text.trim() === "null") return null;
	try {
		const table = parse(`value = ${text}`);
		// A text with line breaks could define more than the one value.
		return Object.keys(table).length === 1 ? table.value : text;
	} catch {
		return text;
	}
}
