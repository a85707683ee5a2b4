import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isPolicyUsual, usualPolicy, usualPolicyIn } from "../../src/hosts/shorten-result.ts";
import { resolvePolicy } from "../../src/policy/layers.ts";
import { localeNames, presetNames } from "../../src/policy/names.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it("equals the schema's default policy", () => {
	const { locale, on_archive_failure, archive } = resolvePolicy([]);
	expect(usualPolicy).toEqual({ locale, on_archive_failure, archive });
});

it("equals the schema's default in the language of a preset or a locale", () => {
	for (const preset of presetNames) {
		for (const locale of [undefined, ...localeNames]) {
			const { locale: spoken, on_archive_failure, archive } = resolvePolicy([{ preset, ...(locale && { locale }) }]);
			const named = { PALIMPSEST_PRESET: preset, ...(locale && { PALIMPSEST_LOCALE: locale }) };
			expect(usualPolicyIn(named)).toEqual({ locale: spoken, on_archive_failure, archive });
		}
	}
	expect(usualPolicyIn({ PALIMPSEST_PRESET: "toString" })).toBeUndefined();
	expect(usualPolicyIn({ PALIMPSEST_LOCALE: "de" })).toBeUndefined();
});

it("is not used when a file or a variable sets a policy", async () => {
	const folder = await scratchFolder();
	const usual = (environment: Record<string, string>) =>
		isPolicyUsual({ environment: { XDG_CONFIG_HOME: folder, ...environment }, workingDirectory: folder });
	expect(await usual({ PALIMPSEST_ARCHIVE: "none", PALIMPSEST_NAMESPACE: "a", PATH: "/bin" })).toBe(true);
	expect(await usual({ PALIMPSEST_LOCALE: "en" })).toBe(false);
	expect(await usual({ PALIMPSEST_POLICY: "x.toml" })).toBe(false);
	await writeFile(join(folder, "palimpsest.toml"), "");
	expect(await usual({})).toBe(false);
});
