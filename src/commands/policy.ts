import { policyJsonSchema } from "../engine/policy/check.ts";
import { resolvePolicy } from "../engine/policy/layers.ts";
import { presetNames } from "../engine/policy/names.ts";
import { presets } from "../engine/policy/presets.ts";
import { policyReference } from "../engine/policy/reference.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { createCompactionSource } from "../operations/config/compaction.ts";
import { loadConfig, readPolicyFile } from "../operations/config/config.ts";
import { guardConversation } from "../operations/guard.ts";
import { truncateText } from "../operations/truncate.ts";
import { type CommonOptions, commandConfig, configSources, printJson, say, withArchive } from "./input-output.ts";
import { refuseUnknown } from "./usage.ts";

/** `palimpsest policy show` */
export async function showPolicy(options: CommonOptions): Promise<void> {
	const { policy, file, found } = await commandConfig(options);
	printJson({ policy, file, found }, 2);
}

/** `palimpsest policy presets [NAME]` */
export function showPresets(name: string | undefined): void {
	if (name === undefined) {
		const width = Math.max(...presetNames.map((one) => one.length));
		for (const one of presetNames) process.stdout.write(`${one.padEnd(width)}  ${presets[one].description}\n`);
		return;
	}
	const preset = presetNames.find((known) => known === name);
	if (!preset) refuseUnknown("preset", name, presetNames);
	const { description, source } = presets[preset];
	printJson({ name, description, source, policy: resolvePolicy([{ preset }]) }, 2);
}

/** `palimpsest policy schema` */
export function showPolicySchema(): void {
	printJson(policyJsonSchema(), 2);
}

/** `palimpsest policy check [FILE]`. Loads what the policy names, and uses it once: commands refuse more than the schema. */
export async function checkPolicy(file: string | undefined, options: CommonOptions): Promise<void> {
	const config = file === undefined ? await loadConfig(configSources(options)) : undefined;
	const policy = config?.policy ?? resolvePolicy([await readPolicyFile(file as string)]);
	const compaction = createCompactionSource({
		environment: process.env,
		policyFile: () => config?.file ?? file ?? null,
		workingDirectory: process.cwd(),
	});
	await compaction.check(policy);
	await withArchive({ archive: "memory" }, policy, async () => {});
	await truncateText({ text: "word\n".repeat(1_000), policy });
	await tryGuard(policy);
	for (const { key, why } of config?.ignored ?? []) say(`ignored ${key} of ${config?.found}: ${why}`);
	if (config && config.ignored.length > 0) {
		say("it was found in this folder, not named: --policy FILE or PALIMPSEST_POLICY makes all of it count");
	}
	say(`${file ?? "the configuration"} is valid`);
}

/** A window that only a call names is not known here. */
async function tryGuard(policy: Policy): Promise<void> {
	try {
		const { error } = await guardConversation({ conversation: [{ role: "user", content: "Hello" }], policy });
		if (error) throw error;
	} catch (error) {
		if (!(error instanceof PalimpsestError) || error.code !== "context_window_unknown") throw error;
	}
}

/** `palimpsest policy reference` */
export function showPolicyReference(): void {
	process.stdout.write(policyReference());
}
