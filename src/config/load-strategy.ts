import type { CompactionStrategy, StrategyDependencies } from "../engine/compaction/strategy.ts";
import { PalimpsestError } from "../errors.ts";
import { nearestName } from "../policy/errors.ts";
import { parseStrategyName } from "../policy/names.ts";
import { resolveModule } from "./resolve-module.ts";

/** An external strategy by its name in the configuration. */
export interface NamedStrategy {
	/** `module#Export` or `module:Class`. */
	readonly name: string;
	/** Absolute path of the folder that paths and packages are looked for from: that of the policy file. */
	readonly folder: string;
}

/** A strategy that was loaded and has the right shape. */
export interface CheckedStrategy {
	readonly name: string;
	readonly shape:
		| { readonly kind: "class"; readonly create: new (dependencies: StrategyDependencies) => unknown }
		| { readonly kind: "object"; readonly strategy: CompactionStrategy };
}

/**
 * Loads the module of an external strategy, which runs its code, and checks the export: a class with a method `compact`,
 * or an object with one. No class is constructed yet. This is the check that a server makes when it starts.
 *
 * @throws PalimpsestError `invalid_policy` where the name is none, the module is not there or fails, or the export is not
 * there or no strategy.
 */
export async function checkStrategy({ name, folder }: NamedStrategy): Promise<CheckedStrategy> {
	const parsed = parseStrategyName(name);
	const refuse = (problem: string, cause?: unknown): PalimpsestError => refused(name, problem, cause);
	if (parsed.kind === "unusable") throw refuse(parsed.problem);
	if (parsed.kind === "built_in") throw refuse('expected "module#Export", got a strategy that is built in.');
	const { module, exportName } = parsed;
	const url = resolveModule(module, folder);
	if (url === undefined) {
		const advice = `Install the package there, or give a path from that folder, such as "./strategy.mjs#${exportName}".`;
		throw refuse(`no such module is found from ${folder}. ${advice}`);
	}
	let namespace: Readonly<Record<string, unknown>>;
	try {
		namespace = await import(url.href);
	} catch (error) {
		throw refuse(`the module could not be loaded: ${briefly(error)}`, error);
	}
	const found = exportOf(namespace, exportName);
	if (found.length === 0) throw refuse(missing(namespace, exportName));
	const shape = found.map(shapeOf).find((one) => one !== undefined);
	if (!shape) {
		throw refuse(
			`expected a class with a method \`compact\`, or an object with a function \`compact\`, got ${described(found[0])}. A class has to have it as a method, not as a field.`,
		);
	}
	return { name, shape };
}

/**
 * Makes the strategy: a class is constructed with its dependencies, an object is taken as it is.
 *
 * @throws PalimpsestError `invalid_policy` where the constructor fails or makes something else.
 */
export function constructStrategy({ name, shape }: CheckedStrategy, given: StrategyDependencies): CompactionStrategy {
	if (shape.kind === "object") return shape.strategy;
	let made: unknown;
	try {
		made = new shape.create(given);
	} catch (error) {
		throw refused(name, `its constructor failed: ${briefly(error)}`, error);
	}
	if (!isStrategy(made)) throw refused(name, "expected its constructor to make an object with a function `compact`.");
	return made;
}

/** Loads, checks and makes an external strategy. @throws PalimpsestError `invalid_policy`, as the two steps do. */
export async function loadStrategy(
	what: NamedStrategy & { readonly dependencies: StrategyDependencies },
): Promise<CompactionStrategy> {
	return constructStrategy(await checkStrategy(what), what.dependencies);
}

/** What a name may stand for: an export, or a member of `module.exports`, whose names Node does not always see. */
function exportOf(namespace: Readonly<Record<string, unknown>>, name: string): unknown[] {
	const whole = namespace.default;
	const own = name in namespace ? [namespace[name]] : [];
	return isMembered(whole) && Object.hasOwn(whole, name) ? [...own, whole[name]] : own;
}

function shapeOf(value: unknown): CheckedStrategy["shape"] | undefined {
	if (typeof value === "function" && isStrategy(value.prototype)) {
		return { kind: "class", create: value as new (dependencies: StrategyDependencies) => unknown };
	}
	return isStrategy(value) ? { kind: "object", strategy: value } : undefined;
}

function isStrategy(value: unknown): value is CompactionStrategy {
	return isMembered(value) && typeof value.compact === "function";
}

function isMembered(value: unknown): value is Readonly<Record<string, unknown>> {
	return (typeof value === "object" && value !== null) || typeof value === "function";
}

const mostNames = 10;

function missing(namespace: Readonly<Record<string, unknown>>, name: string): string {
	const members = isMembered(namespace.default) ? Object.keys(namespace.default) : [];
	const names = [...new Set([...Object.keys(namespace), ...members])];
	const near = nearestName(name, names);
	const hint = near === null ? "" : ` Did you mean ${near}?`;
	const listed = names.slice(0, mostNames).join(", ") + (names.length > mostNames ? ", …" : "");
	return `the module has no export ${name}; it has ${listed || "none at all"}.${hint}`;
}

function described(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "a list";
	if (typeof value !== "function") return typeof value === "object" ? "an object without it" : `a ${typeof value}`;
	return /^class\b/.test(Function.prototype.toString.call(value)) ? "a class without it" : "a function without it";
}

const longestReason = 300;

/** The first line of what somebody else's code threw. */
function briefly(error: unknown): string {
	const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
	const [line = ""] = text.split("\n");
	return line.length > longestReason ? `${line.slice(0, longestReason)}…` : line;
}

function refused(name: string, problem: string, cause?: unknown): PalimpsestError {
	const message = `The compaction strategy ${JSON.stringify(name)} cannot be used: ${problem}`;
	return new PalimpsestError("invalid_policy", message, cause === undefined ? undefined : { cause });
}
