import vm from "node:vm";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv-provider.js";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { RE2JS } from "re2js";
import type { JsonObject } from "../engine/conversation/json.ts";

/** A schema may ask for work without end by other means than patterns, such as references that double at each level. */
const patienceMs = 500;

/**
 * Whether structured content fits the `outputSchema` of its tool, as a client checks it; false for an unusable schema. The
 * schema is a stranger's: its patterns are matched in linear time, and those that RE2 does not know fit nothing.
 */
export function fitsOutputSchema(content: unknown, schema: JsonObject): boolean {
	const check = () => new AjvJsonSchemaValidator(checker()).getValidator(schema)(content).valid;
	try {
		return new vm.Script("check()").runInNewContext({ check }, { timeout: patienceMs });
	} catch {
		return false;
	}
}

function checker(): Ajv {
	const regExp = Object.assign((pattern: string) => linearPattern(pattern), { code: "linearPattern" });
	// The others are the SDK's.
	const options = { strict: false, validateFormats: true, validateSchema: false, allErrors: true };
	const ajv = new Ajv({ ...options, code: { regExp } });
	(addFormats as unknown as (ajv: Ajv) => void)(ajv);
	return ajv;
}

/** Throws for a pattern that RE2 does not know. */
function linearPattern(pattern: string): { readonly test: (text: string) => boolean } {
	const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
	return { test: (text) => compiled.test(text) };
}
