import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { describeValue, isPlainName, nearestName, wrongArgument } from "./errors.ts";
import { builtInStrategies } from "./names.ts";

export type OptionSchemas<Options> = { readonly [Name in keyof Required<Options>]: z.ZodType };

export function optionsSchema<Options>(schemas: OptionSchemas<Options>): z.ZodObject {
	return z.strictObject(schemas as Readonly<Record<string, z.ZodType>>).partial();
}

/** Refuses unknown options, which would have no effect. Quotes only numbers and flags. Throws `invalid_argument`. */
export function checkOptions(options: unknown, of: string, schema: z.ZodObject): void {
	if (typeof options !== "object" || options === null || Array.isArray(options)) {
		throw wrongArgument(`the options of \`${of}\``, "an object", options);
	}
	const issue = firstIssue(options, of, schema);
	if (issue === undefined) return;
	const known = Object.keys(schema.shape);
	if (issue.code === "unrecognized_keys") throw unknownOption(of, issue.keys[0] ?? "", known);
	const name = String(issue.path[0]);
	const taken = (schema.shape[name] as z.ZodOptional<z.ZodType>).unwrap();
	const value = (options as Readonly<Record<string, unknown>>)[name];
	const expected = `Expected the option \`${name}\` of \`${of}\` to be ${taken.description}, or left out`;
	const near = typeof value === "string" ? nearestName(value, wordsOf(taken)) : null;
	const hint = near === null ? "" : ` Did you mean \`${near}\`?`;
	throw refused(`${expected}; got ${describeValue(value, { text: "kind" })}.${hint}`);
}

function firstIssue(options: object, of: string, schema: z.ZodObject): z.core.$ZodIssue | undefined {
	try {
		return schema.safeParse(options).error?.issues[0];
	} catch (cause) {
		// A getter or a proxy of the caller's may throw.
		throw refused(`Expected the options of \`${of}\` to be readable; reading one threw an error.`, cause);
	}
}

function unknownOption(of: string, name: string, known: readonly string[]): PalimpsestError {
	const near = isPlainName(name) ? nearestName(name, known) : null;
	const hint = near === null ? `Known: ${known.join(", ")}.` : `Did you mean \`${near}\`?`;
	return refused(`\`${of}\` takes no option ${isPlainName(name) ? `\`${name}\`` : "of that name"}. ${hint}`);
}

function wordsOf(schema: z.ZodType): readonly string[] {
	if (schema instanceof z.ZodEnum) return schema.options.map(String);
	return schema instanceof z.ZodUnion ? schema.options.flatMap((option) => wordsOf(option as z.ZodType)) : [];
}

function refused(message: string, cause?: unknown): PalimpsestError {
	return new PalimpsestError("invalid_argument", message, { cause });
}

export function wholeNumber(least: number, unit = ""): z.ZodType {
	const schema = z.int().min(least);
	return schema.describe(`a whole number${unit && ` of ${unit}`}, ${least} or more`);
}

/** A number without an upper bound, so infinity is allowed. */
export function number(least: number, unit = ""): z.ZodType {
	const schema = z.custom((value) => typeof value === "number" && value >= least);
	return schema.describe(`a number${unit && ` of ${unit}`}, ${least} or more`);
}

export function choice(words: readonly string[]): z.ZodType {
	return z.enum(words as [string]).describe(words.join(", "));
}

function withMethods(methods: readonly string[], expected: string): z.ZodType {
	const hasMethod = (value: object, name: string) => typeof (value as Record<string, unknown>)[name] === "function";
	const isTaken = (value: unknown) =>
		typeof value === "object" && value !== null && methods.every((method) => hasMethod(value, method));
	return z.custom(isTaken).describe(expected);
}

export const optionTypes = {
	/** For options that another check follows. */
	anything: z.unknown().describe("anything"),
	string: z.string().describe("a string"),
	strings: z.array(z.string()).describe("a list of strings"),
	flag: z.boolean().describe("true or false"),
	callback: z.custom((value) => typeof value === "function").describe("a function"),
	object: withMethods([], "an object"),
	tools: withMethods([], "a list or an object of tool schemas"),
	signal: withMethods(["throwIfAborted", "addEventListener"], "an AbortSignal"),
	archive: withMethods(["put", "get", "refOf"], "an archive, as `openArchive` opens one"),
	summariser: withMethods(["summarise"], "a summariser, as `createOpenAiCompatible` makes one"),
	clock: withMethods(["now", "sleep"], "a clock with `now` and `sleep`"),
	strategy: z
		.union([z.enum(builtInStrategies), withMethods(["compact"], "an object with `compact`")])
		.describe(`${builtInStrategies.join(", ")}, an object with \`compact\``),
} as const satisfies Readonly<Record<string, z.ZodType>>;
