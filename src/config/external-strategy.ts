import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path, { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CompactionStrategy, StrategyDependencies } from "../compaction/strategy.ts";
import { isJsonObject } from "../conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { invalidPolicy, nearestName } from "../policy/errors.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { PolicyLayer } from "../policy/schema.ts";
import type { PolicyFileSearch } from "./policy-file.ts";

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

/**
 * Refuses code that a policy file names which nobody named: hosts start a server in the folder of a project, and to open
 * somebody else's project must not run what lies in it.
 *
 * @throws PalimpsestError `invalid_policy`.
 */
export function refuseFoundCode(layer: PolicyLayer, file: string, search: PolicyFileSearch): void {
	const strategy = layer.compaction?.strategy;
	if (strategy === undefined || parseStrategyName(strategy).kind !== "external") return;
	const isNamed = search.policyFile !== undefined || Boolean(search.environment.PALIMPSEST_POLICY);
	if (isNamed || path.dirname(file) !== path.resolve(search.workingDirectory)) return;
	throw invalidPolicy(file, [
		"compaction.strategy: module#Export and module:Class are code, and this file was found in the working directory, not named. Trust it by --policy FILE or PALIMPSEST_POLICY.",
	]);
}

/**
 * The URL of a module that a configuration names, as the code of a file in `folder` would import it: a path, a `file:`
 * URL, or a package, which may have an entry for `import` alone. `undefined` where there is no such file.
 */
export function resolveModule(module: string, folder: string): URL | undefined {
	if (module.startsWith("file:")) return URL.canParse(module) ? existing(new URL(module)) : undefined;
	if (/^\.{0,2}[\\/]/.test(module) || isAbsolute(module)) return existing(pathToFileURL(resolve(folder, module)));
	const require = createRequire(join(folder, "from-here"));
	try {
		const found = require.resolve(module);
		// A module of Node's own is none of a package.
		return isAbsolute(found) ? pathToFileURL(found) : undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") return undefined;
		return importOnly(module, require.resolve.paths(module) ?? []);
	}
}

/** Node tells where `import` leads only from its own module, so what `require` does not see is looked up by hand. */
function importOnly(module: string, folders: readonly string[]): URL | undefined {
	const [name = ""] = /^(?:@[^/]+\/)?[^/]+/.exec(module) ?? [];
	const found = folders.map((one) => join(one, name)).find((one) => existsSync(join(one, "package.json")));
	if (found === undefined) return undefined;
	const { exports } = JSON.parse(readFileSync(join(found, "package.json"), "utf8")) as { exports?: unknown };
	const target = packageTarget(exports, `.${module.slice(name.length)}`);
	return target === undefined ? undefined : existing(pathToFileURL(join(found, target)));
}

function existing(url: URL): URL | undefined {
	try {
		return url.protocol === "file:" && statSync(url).isFile() ? url : undefined;
	} catch {
		return undefined;
	}
}

/** Conditions of an `exports` field that hold for `import` in Node. */
const conditions = new Set(["node", "node-addons", "import", "module-sync", "default"]);

/**
 * The file that the `exports` field of a package names for an `import` of `subpath` (`.` or `./…`), relative to the
 * package; `undefined` where it names none. After the rules of Node's documentation, "Modules: Packages".
 */
export function packageTarget(exports: unknown, subpath: string): string | undefined {
	const isBySubpath = isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith("."));
	const bySubpath: Readonly<Record<string, unknown>> = isBySubpath ? exports : { ".": exports };
	if (Object.hasOwn(bySubpath, subpath)) return targetOf(bySubpath[subpath], "");
	const patterns = Object.keys(bySubpath)
		.filter((key) => key.includes("*"))
		.map((key) => ({ key, start: key.slice(0, key.indexOf("*")), end: key.slice(key.indexOf("*") + 1) }))
		.filter(({ start, end }) => subpath.startsWith(start) && subpath.endsWith(end))
		.filter(({ start, end }) => subpath.length > start.length + end.length)
		.toSorted((a, b) => b.start.length - a.start.length || b.key.length - a.key.length);
	const [best] = patterns;
	if (!best) return undefined;
	const { key, start, end } = best;
	return targetOf(bySubpath[key], subpath.slice(start.length, subpath.length - end.length));
}

function targetOf(target: unknown, star: string): string | undefined {
	if (typeof target === "string") return isWithin(target) ? target.replaceAll("*", star) : undefined;
	if (Array.isArray(target)) return firstOf(target as unknown[], star);
	if (!isJsonObject(target)) return undefined;
	const holding = Object.entries(target).filter(([condition]) => conditions.has(condition));
	return firstOf(
		holding.map(([, value]) => value),
		star,
	);
}

function firstOf(targets: readonly unknown[], star: string): string | undefined {
	for (const one of targets) {
		const found = targetOf(one, star);
		if (found !== undefined) return found;
	}
	return undefined;
}

function isWithin(target: string): boolean {
	return target.startsWith("./") && !target.split(/[\\/]/).includes("..");
}
