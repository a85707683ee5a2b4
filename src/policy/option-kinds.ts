import { builtInStrategies } from "./strategy-name.ts";

/** What an option takes, in words that follow "to be", and whether a value is such. */
export interface OptionKind {
	readonly expected: string;
	readonly takes: (value: unknown) => boolean;
	/** Words that it takes, of which the nearest is suggested. */
	readonly words?: readonly string[];
}

const isString = (value: unknown) => typeof value === "string";
const isFunction = (value: unknown) => typeof value === "function";

/** Whether a value has these methods. */
function has(value: unknown, methods: readonly string[]): boolean {
	if (typeof value !== "object" || value === null) return false;
	return methods.every((method) => isFunction((value as Record<string, unknown>)[method]));
}

/** A whole number, `least` or more. */
export function wholeNumberKind(least: number, unit = ""): OptionKind {
	return {
		expected: `a whole number${unit && ` of ${unit}`}, ${least} or more`,
		takes: (value) => Number.isSafeInteger(value) && Number(value) >= least,
	};
}

/** A number, in `unit`, from `least` on. */
export function numberKind(least: number, unit = ""): OptionKind {
	return {
		expected: `a number${unit && ` of ${unit}`}, ${least} or more`,
		takes: (value) => typeof value === "number" && value >= least,
	};
}

/** One of some words. */
export function choiceKind(words: readonly string[]): OptionKind {
	return { expected: words.join(", "), words, takes: (value) => words.includes(value as string) };
}

/** What the options of the library's functions take. */
export const optionKinds = {
	/** Is checked elsewhere, in more words. */
	anything: { expected: "anything", takes: () => true },
	string: { expected: "a string", takes: isString },
	list: { expected: "a list", takes: (value) => Array.isArray(value) },
	strings: { expected: "a list of strings", takes: (value) => Array.isArray(value) && value.every(isString) },
	flag: { expected: "true or false", takes: (value) => typeof value === "boolean" },
	function: { expected: "a function", takes: isFunction },
	object: { expected: "an object", takes: (value) => typeof value === "object" && value !== null },
	tools: { expected: "a list or an object of tool schemas", takes: (value) => has(value, []) },
	signal: { expected: "an AbortSignal", takes: (value) => has(value, ["throwIfAborted", "addEventListener"]) },
	archive: {
		expected: "an archive, as `openArchive` opens one",
		takes: (value) => has(value, ["put", "get", "refOf"]),
	},
	summariser: {
		expected: "a summariser, as `createOpenAiCompatible` makes one",
		takes: (value) => has(value, ["summarise"]),
	},
	clock: { expected: "a clock with `now` and `sleep`", takes: (value) => has(value, ["now", "sleep"]) },
	strategy: {
		expected: `${builtInStrategies.join(", ")}, an object with \`compact\``,
		words: builtInStrategies,
		takes: (value) => builtInStrategies.some((name) => name === value) || has(value, ["compact"]),
	},
} as const satisfies Readonly<Record<string, OptionKind>>;
