import { readPolicyFile } from "../config/config.ts";
import { policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { presetNames } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
import { policyReference } from "../policy/reference.ts";
import { type CommonOptions, commandConfig, printJson, say } from "./input-output.ts";
import { refuseUnknown } from "./usage.ts";

/** `palimpsest policy show` */
export async function showPolicy(options: CommonOptions): Promise<void> {
	const { policy, file } = await commandConfig(options);
	printJson({ policy, file }, 2);
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

/** `palimpsest policy check [FILE]` */
export async function checkPolicy(file: string | undefined, options: CommonOptions): Promise<void> {
	if (file !== undefined) resolvePolicy([await readPolicyFile(file)]);
	else await commandConfig(options);
	say(`${file ?? "the configuration"} is valid`);
}

/** `palimpsest policy reference` */
export function showPolicyReference(): void {
	process.stdout.write(policyReference());
}
