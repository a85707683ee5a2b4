import { quote } from "./describe-value.ts";
import { nearestName } from "./nearest-name.ts";

/** The strategies that are built in (seed 3). */
export const builtInStrategies = ["llm-summary", "tool-result-hiding", "hiding-then-summary"] as const;

export type BuiltInStrategy = (typeof builtInStrategies)[number];

/** What the name of a strategy stands for; `unusable` where it is no such name, with the reason in words. */
export type StrategyName =
	| { readonly kind: "built_in"; readonly name: BuiltInStrategy }
	| {
			readonly kind: "external";
			/** The name of a package, with a path within it or without; or a path or `file:` URL. */
			readonly module: string;
			/** The name of the export; `default` for the module's own. */
			readonly exportName: string;
	  }
	| { readonly kind: "unusable"; readonly problem: string };

const longestName = 1_000;
const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;
const path = /^(?:\.{0,2}[\\/]|[A-Za-z]:[\\/]|file:)/;
const packageName = /^(?:@[\w.~-]+\/)?[A-Za-z0-9_~-][\w.~-]*(?:\/[^\\\s#?%]+)?$/;

/**
 * Parses the name of a compaction strategy: a built-in one, or `module#Export`. `module` is a package or a path that
 * starts with `./`, `../`, `/` or `file:`; the last `#` parts it from the export.
 */
export function parseStrategyName(name: string): StrategyName {
	const builtIn = builtInStrategies.find((one) => one === name);
	if (builtIn) return { kind: "built_in", name: builtIn };
	const unusable = (problem: string): StrategyName => ({ kind: "unusable", problem });
	const hash = name.lastIndexOf("#");
	if (hash === -1) {
		const near = nearestName(name, builtInStrategies);
		const hint = near === null ? "" : ` Did you mean ${near}?`;
		const known = builtInStrategies.map((one) => `"${one}"`).join(", ");
		return unusable(`expected ${known} or "module#Export" of your own, got ${quote(name)}.${hint}`);
	}
	const [module, exportName] = [name.slice(0, hash), name.slice(hash + 1)];
	if (name.length > longestName || !(path.test(module) || packageName.test(module))) {
		return unusable(
			`expected a package or a path that starts with "./", "../", "/" or "file:" before the "#", got ${quote(module)}.`,
		);
	}
	if (!identifier.test(exportName)) {
		return unusable(
			`expected the name of an export behind the "#", or "default" for the module's own, got ${quote(exportName)}.`,
		);
	}
	return { kind: "external", module, exportName };
}
