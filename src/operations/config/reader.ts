import { execFileSync } from "node:child_process";
import type { Environment } from "../../engine/policy/layers.ts";
import type { LocaleName } from "../../engine/policy/names.ts";

/** The language of the person, as `reader` in the layer below all others. `undefined` where nothing names one. */
export function languageOfReader(
	environment: Environment,
	platform: NodeJS.Platform = process.platform,
): LocaleName | undefined {
	return readerLocale(environment, () => systemLanguage(platform));
}

/**
 * French, Chinese, or English for every other language, by the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set
 * (POSIX, "Internationalization Variables"). `C` and `POSIX` name no language; then the system's counts.
 */
export function readerLocale(
	{ LC_ALL, LC_MESSAGES, LANG }: Environment,
	systemsOwn: () => string | undefined,
): LocaleName | undefined {
	const set = LC_ALL || LC_MESSAGES || LANG || "";
	const language = /^(?:C|POSIX)?(?:[.@].*)?$/i.test(set) ? systemsOwn() : set;
	const name = /^[a-z]{2,3}(?![a-z])/i.exec(language ?? "")?.[0].toLowerCase();
	if (name === undefined) return undefined;
	return name === "fr" || name === "zh" ? name : "en";
}

let ofMac: { readonly language: string | undefined } | undefined;

/** A program that a desktop starts has none of the variables. On Linux the desktop sets them. */
function systemLanguage(platform: NodeJS.Platform): string | undefined {
	if (platform === "win32") return Intl.DateTimeFormat().resolvedOptions().locale;
	if (platform !== "darwin") return undefined;
	ofMac ??= { language: languageOfMac() };
	return ofMac.language;
}

/** The first of the user's languages, which `defaults` prints as a list: `(\n    "fr-FR",\n    "en-US"\n)`. */
function languageOfMac(): string | undefined {
	try {
		const stdio = ["ignore", "pipe", "ignore"] as const;
		const printed = execFileSync("/usr/bin/defaults", ["read", "-g", "AppleLanguages"], {
			encoding: "utf8",
			timeout: 1_000,
			stdio: [...stdio],
		});
		return /[a-z]{2,3}(?:-\w+)*/i.exec(printed)?.[0];
	} catch {
		return undefined;
	}
}
