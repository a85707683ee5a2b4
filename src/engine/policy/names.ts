import type { LogLevel } from "../../log.ts";
import { quote, suggestion } from "./errors.ts";

// The hooks load this file, so it imports no zod.

export const presetNames = [
	"observation-masking",
	"tool-result-hiding",
	"context-guard",
	"context-trim",
	"balanced",
] as const;

export const localeNames = ["fr", "en", "zh"] as const;

/** Levels of RFC 5424 that the MCP logging utility uses, least severe first. */
export const logLevels = [
	"debug",
	"info",
	"notice",
	"warning",
	"error",
	"critical",
	"alert",
	"emergency",
] as const satisfies readonly LogLevel[];

export type PresetName = (typeof presetNames)[number];
export type LocaleName = (typeof localeNames)[number];

export const truncationStrategies = [
	"head_tail",
	"auto",
	"json",
	"log",
	"diff",
	"table",
	"html",
	"binary",
	"focus",
] as const;

export const builtInStrategies = ["llm-summary", "tool-result-hiding", "hiding-then-summary", "provider"] as const;

export type BuiltInStrategy = (typeof builtInStrategies)[number];

type StrategyName =
	| { readonly kind: "built_in"; readonly name: BuiltInStrategy }
	| { readonly kind: "external"; readonly module: string; readonly exportName: string }
	| { readonly kind: "unusable"; readonly problem: string };

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;
const path = /^(?:\.{0,2}[\\/]|[A-Za-z]:[\\/]|file:)/;
const packageName = /^(?:@[\w.~-]+\/)?[A-Za-z0-9_~-][\w.~-]*(?:\/[^\\\s#?%]+)?$/;

/** A path or URL whose only colon is that of its drive or scheme. */
const pathAlone = /^(?:[A-Za-z]:[\\/]|file:)[^#:]*$/;
/** Prefixes of other kinds of modules: `node:fs` is not an export of a package. */
const scheme = /^(?:node|npm|jsr|file|data|blob|https?)$/i;

/** `module` is a package or a path (docs/compaction.md#naming-a-strategy). */
export function parseStrategyName(name: string): StrategyName {
	const builtIn = builtInStrategies.find((one) => one === name);
	if (builtIn) return { kind: "built_in", name: builtIn };
	const unusable = (problem: string): StrategyName => ({ kind: "unusable", problem });
	const end = Math.max(name.lastIndexOf("#"), name.lastIndexOf(":"));
	if (end === -1) {
		const hint = suggestion(name, builtInStrategies);
		const known = builtInStrategies.map((one) => `"${one}"`).join(", ");
		return unusable(`expected ${known} or "module#Export" of your own, got ${quote(name)}.${hint}`);
	}
	if (pathAlone.test(name)) {
		return unusable(`expected "#" and the name of an export after the path, got ${quote(name)}.`);
	}
	const [module, separator, exportName] = [name.slice(0, end), name.charAt(end), name.slice(end + 1)];
	const isModule = path.test(module) || (packageName.test(module) && !(separator === ":" && scheme.test(module)));
	if (name.length > 1_000 || !isModule) {
		const modules = 'a package or a path that starts with "./", "../", "/" or "file:"';
		return unusable(`expected ${modules} before the "${separator}", got ${quote(module)}.`);
	}
	if (!identifier.test(exportName)) {
		const exports = `the name of an export after the "${separator}", or "default" for the module's own`;
		return unusable(`expected ${exports}, got ${quote(exportName)}.`);
	}
	return { kind: "external", module, exportName };
}
