import { findPolicyFile } from "../config/find-policy-file.ts";
import type { LocaleName, PresetName } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
import type { Policy } from "../policy/schema.ts";
import { excerptWordings } from "../policy/wordings.ts";

/** What of a policy counts for the result of one call. */
export type UsualPolicy = Pick<Policy, "locale" | "on_archive_failure" | "archive">;

/** What it is where nothing sets it: the schema's own defaults, which a test holds it to. */
export const usualPolicy: UsualPolicy = {
	locale: "fr",
	on_archive_failure: "refuse",
	archive: {
		max_age_days: 30,
		max_bytes: 1_000_000_000,
		recall_hint: true,
		redact: [],
		redact_credentials: false,
	},
};

/**
 * The usual policy in the language that a preset or a locale sets; a preset changes nothing else of it. `undefined` for
 * names that are none: the schema then says what is wrong.
 */
export function usualPolicyIn(named: {
	readonly PALIMPSEST_PRESET?: string;
	readonly PALIMPSEST_LOCALE?: string;
}): UsualPolicy | undefined {
	const { PALIMPSEST_PRESET: preset, PALIMPSEST_LOCALE: given } = named;
	if (preset !== undefined && !Object.hasOwn(presets, preset)) return undefined;
	const ofPreset = preset === undefined ? undefined : presets[preset as PresetName].policy.locale;
	const locale = given ?? ofPreset ?? usualPolicy.locale;
	return Object.hasOwn(excerptWordings, locale) ? { ...usualPolicy, locale: locale as LocaleName } : undefined;
}

/** Variables of ours that set no field of a policy. */
const others = /^PALIMPSEST_(?:ARCHIVE|NAMESPACE|AUTH_TOKENS|LLM_\w+)$/;

/**
 * Whether nothing sets a policy here: no file, no variable. The defaults then count, and the schema, which takes longer to
 * load than a result to shorten, need not be.
 */
export async function isPolicyUsual(search: {
	readonly environment: Readonly<Record<string, string | undefined>>;
	readonly workingDirectory: string;
}): Promise<boolean> {
	const isSet = ([name, value]: [string, string | undefined]) =>
		name.startsWith("PALIMPSEST_") && !others.test(name) && value !== "";
	return !Object.entries(search.environment).some(isSet) && (await findPolicyFile(search)) === null;
}
