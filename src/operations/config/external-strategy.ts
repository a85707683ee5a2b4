import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CompactionStrategy, StrategyDependencies } from "../../engine/compaction/strategy.ts";
import type { JsonObject } from "../../engine/conversation/json.ts";
import { nearestName } from "../../engine/policy/errors.ts";
import { parseStrategyName } from "../../engine/policy/names.ts";
import { PalimpsestError } from "../../errors.ts";

export interface CheckedStrategy {
	readonly name: string;
	readonly create: (dependencies: StrategyDependencies) => unknown;
}

/** Loads the module, which runs its code, and checks the export. Constructs nothing. Throws `invalid_policy`. */
export async function checkStrategy(name: string, folder: string): Promise<CheckedStrategy> {
	const parsed = parseStrategyName(name);
	if (parsed.kind === "unusable") throw refused(name, parsed.problem);
	if (parsed.kind === "built_in") throw refused(name, 'expected "module#Export", got a built-in strategy.');
	const { module, exportName } = parsed;
	const url = resolveModule(module, folder);
	if (url === undefined) {
		const advice = `Install the package there, or give a path from that folder, such as "./strategy.mjs#${exportName}".`;
		throw refused(name, `the module was not found from ${folder}. ${advice}`);
	}
	const namespace: JsonObject = await import(url.href).catch((error: unknown) => {
		throw refused(name, `the module could not be loaded: ${firstLine(error)}`, error);
	});
	const found = exportsNamed(namespace, exportName);
	if (found.length === 0) throw refused(name, missing(namespace, exportName));
	const create = found.map(findCreator).find((one) => one !== undefined);
	if (create) return { name, create };
	const expected = "expected a class with a method `compact`, or an object with a function `compact`";
	const got = described(found[0]);
	throw refused(name, `${expected}, got ${got}. A class has to have it as a method, not as a field.`);
}

/** Throws `invalid_policy` if the constructor fails or makes something else. */
export function constructStrategy({ name, create }: CheckedStrategy, given: StrategyDependencies): CompactionStrategy {
	let made: unknown;
	try {
		made = create(given);
	} catch (error) {
		throw refused(name, `its constructor failed: ${firstLine(error)}`, error);
	}
	if (!isStrategy(made)) throw refused(name, "expected its constructor to make an object with a function `compact`.");
	return made;
}

/** The export, or a member of `module.exports`, whose names Node.js does not always see. */
function exportsNamed(namespace: JsonObject, name: string): unknown[] {
	const whole = namespace.default;
	const own = name in namespace ? [namespace[name]] : [];
	return hasMembers(whole) && Object.hasOwn(whole, name) ? [...own, whole[name]] : own;
}

function findCreator(value: unknown): CheckedStrategy["create"] | undefined {
	if (typeof value === "function" && isStrategy(value.prototype)) {
		return (dependencies) => Reflect.construct(value, [dependencies]);
	}
	return isStrategy(value) ? () => value : undefined;
}

function isStrategy(value: unknown): value is CompactionStrategy {
	return hasMembers(value) && typeof value.compact === "function";
}

function hasMembers(value: unknown): value is JsonObject {
	return (typeof value === "object" && value !== null) || typeof value === "function";
}

function missing(namespace: JsonObject, name: string): string {
	const members = hasMembers(namespace.default) ? Object.keys(namespace.default) : [];
	const names = [...new Set([...Object.keys(namespace), ...members])];
	const near = nearestName(name, names);
	const hint = near === null ? "" : ` Did you mean ${near}?`;
	const listed = names.slice(0, 10).join(", ") + (names.length > 10 ? ", …" : "");
	return `the module has no export ${name}; it has ${listed || "none at all"}.${hint}`;
}

function described(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "a list";
	if (typeof value !== "function") return typeof value === "object" ? "an object without it" : `a ${typeof value}`;
	return /^class\b/.test(Function.prototype.toString.call(value)) ? "a class without it" : "a function without it";
}

function firstLine(error: unknown): string {
	const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
	const [line = ""] = text.split("\n");
	return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function refused(name: string, problem: string, cause?: unknown): PalimpsestError {
	const message = `The compaction strategy ${JSON.stringify(name)} cannot be used: ${problem}`;
	return new PalimpsestError("invalid_policy", message, cause === undefined ? undefined : { cause });
}

function resolveModule(module: string, folder: string): URL | undefined {
	if (module.startsWith("file:")) return URL.canParse(module) ? existing(new URL(module)) : undefined;
	if (/^\.{0,2}[\\/]/.test(module) || isAbsolute(module)) return existing(pathToFileURL(resolve(folder, module)));
	const require = createRequire(join(folder, "from-here"));
	try {
		const found = require.resolve(module);
		return isAbsolute(found) ? pathToFileURL(found) : undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") return undefined;
	}
	// A package that has an entry for `import` alone. Node.js resolves it from this module only, so beside this package.
	try {
		return existing(new URL(import.meta.resolve(module)));
	} catch {
		return undefined;
	}
}

function existing(url: URL): URL | undefined {
	try {
		return url.protocol === "file:" && statSync(url).isFile() ? url : undefined;
	} catch {
		return undefined;
	}
}
