import vm from "node:vm";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { RE2JS } from "re2js";
import type { JsonObject } from "../engine/conversation/json.ts";

/** A schema may ask for work without end by other means than patterns, such as references that double at each level. */
const patienceMs = 500;

/** The pointers (RFC 6901) of the values that do not fit, each once; `undefined` if the schema is unusable. */
export type Misfits = readonly string[] | undefined;

/**
 * Returns a function that checks structured content by the `outputSchema` of its tool, as clients do: as draft 7, and as
 * draft 2020-12 unless the schema names an older one. The schema is a stranger's: its patterns are matched in linear time,
 * and one with patterns that RE2 does not know is unusable.
 */
export function outputChecker(schema: JsonObject): (content: unknown, isSmall?: boolean) => Misfits {
	const isOlder = typeof schema.$schema === "string" && !schema.$schema.includes("2020-12");
	const drafts = isOlder ? [Ajv] : [Ajv, Ajv2020];
	const compiled = within(() => drafts.map((draft) => compilerOf(draft).compile(schema)));
	const misfitsIn = (content: unknown): Misfits => {
		const errors = (compiled ?? []).flatMap((check) => (check(content) ? [] : (check.errors ?? [])));
		return [...new Set(errors.map(({ instancePath }) => instancePath))];
	};
	// Without references the work is bounded by the schema and the content. The limit of time costs as much as a small call.
	const isPlain = !/"\$\w*ref"/i.test(JSON.stringify(schema));
	return (content, isSmall = false) =>
		compiled && (isSmall && isPlain ? misfitsIn(content) : within(() => misfitsIn(content)));
}

const surroundings: { work?: () => unknown } = vm.createContext({});
const script = new vm.Script("work()");

function within<Value>(work: () => Value): Value | undefined {
	surroundings.work = work;
	try {
		return script.runInContext(surroundings, { timeout: patienceMs });
	} catch {
		return undefined;
	}
}

function compilerOf(draft: typeof Ajv | typeof Ajv2020): Ajv {
	const regExp = Object.assign((pattern: string) => linearPattern(pattern), { code: "linearPattern" });
	// The others are those of the SDK's clients.
	const options = { strict: false, validateFormats: true, validateSchema: false, allErrors: true };
	const ajv = new draft({ ...options, code: { regExp } });
	(addFormats as unknown as (ajv: Ajv) => void)(ajv as Ajv);
	return ajv as Ajv;
}

/** Throws for a pattern that RE2 does not know. */
function linearPattern(pattern: string): { readonly test: (text: string) => boolean } {
	const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
	return { test: (text) => compiled.test(text) };
}
