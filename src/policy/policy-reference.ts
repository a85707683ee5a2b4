import { otherVariables } from "./environment-layer.ts";
import { type PolicyField, policyFields } from "./policy-fields.ts";
import { type Preset, presets } from "./presets.ts";
import { presetNames } from "./schema.ts";

const introduction = `# Policy reference

Made from the schema by \`palimpsest policy reference\`; do not edit by hand.

A policy says what is masked, guarded and truncated. Each layer overrides the one before it, field by field:

1. the defaults below
2. the preset
3. the policy file (TOML)
4. the environment
5. \`--set key=value\`, repeatable
6. the \`policy\` argument of a tool call

The preset is that of the last layer that names one. A preset's own templates are worded in its own locale: where a
layer sets another \`locale\`, that locale's wording stands in their place.

The policy file is the one given by flag, else by \`PALIMPSEST_POLICY\`, else \`palimpsest.toml\` in the working directory,
else \`palimpsest/palimpsest.toml\` in the user's configuration folder (\`$XDG_CONFIG_HOME\`, \`~/.config\`; on Windows
\`%APPDATA%\`). A change to it takes effect without a restart; while it is invalid or missing, the last valid one stays.

\`[observation_masking.schema1]\` is another name of \`[mask]\`; a file may use one of the two.

Values in the environment and in \`--set\` are TOML values (\`5\`, \`false\`, \`["truncate", "drop"]\`); what is no TOML is
taken as text, \`null\` as null. In a file, leave out a key that is to be null. An empty variable counts as absent.
An unknown key, a wrong type, a value out of range or an unknown template variable is refused, with its name.`;

/** The text of `docs/policy.md`: every field, and what each preset changes. */
export function policyReference(): string {
	const fields = policyFields();
	return [
		introduction,
		"## Fields",
		table(
			["Key", "Type", "Default", "Description", "Environment"],
			fields.map((field) => [
				code(field.key),
				cell(field.type),
				code(JSON.stringify(field.default)),
				cell(field.description),
				code(field.environmentName),
			]),
		),
		`Not fields: ${Object.entries(otherVariables)
			.map(([name, meaning]) => `${code(name)}, ${meaning}`)
			.join("; ")}.`,
		"## Presets",
		"What each preset changes; all else stands at its default.",
		...presetNames.map((name) => describePreset(name, presets[name], fields)),
		"",
	]
		.join("\n\n")
		.trimEnd()
		.concat("\n");
}

function describePreset(name: string, preset: Preset, fields: readonly PolicyField[]): string {
	const changed = fields
		.map((field) => ({ field, value: valueAt(preset.policy, field.key) }))
		.filter(({ field, value }) => value !== undefined && JSON.stringify(value) !== JSON.stringify(field.default));
	const rows = changed.map(({ field, value }) => [code(field.key), code(JSON.stringify(value))]);
	const changes = rows.length === 0 ? "Changes nothing: it is the defaults." : table(["Key", "Value"], rows);
	return `### ${code(name)}\n\n${preset.description}\n\nFrom: ${preset.source}\n\n${changes}`;
}

function valueAt(layer: object, key: string): unknown {
	return key.split(".").reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], layer);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
	return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(text: string): string {
	return `\`${cell(text)}\``;
}

function cell(text: string): string {
	return text.replaceAll("|", "\\|");
}
