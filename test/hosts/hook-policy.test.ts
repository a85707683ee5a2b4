import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isPolicyUsual, usualPolicy, usualPolicyIn } from "../../src/hosts/hook-policy.ts";
import { resolvePolicy } from "../../src/policy/layers.ts";
import { localeNames, presetNames } from "../../src/policy/names.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it("is what the schema makes of no policy", () => {
	const { locale, on_archive_failure, archive } = resolvePolicy([]);
	expect(usualPolicy).toEqual({ locale, on_archive_failure, archive });
});

it("is in the language of a preset or a locale what the schema makes of them", () => {
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

it("does not count where a file or a variable sets a policy", async () => {
	const folder = await scratchFolder();
	const usual = (environment: Record<string, string>) =>
		isPolicyUsual({ environment: { XDG_CONFIG_HOME: folder, ...environment }, workingDirectory: folder });
	expect(await usual({ PALIMPSEST_ARCHIVE: "none", PALIMPSEST_NAMESPACE: "a", PATH: "/bin" })).toBe(true);
	expect(await usual({ PALIMPSEST_LOCALE: "en" })).toBe(false);
	expect(await usual({ PALIMPSEST_POLICY: "x.toml" })).toBe(false);
	await writeFile(join(folder, "palimpsest.toml"), "");
	expect(await usual({})).toBe(false);
});
