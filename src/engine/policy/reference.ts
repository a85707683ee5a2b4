import { type PolicyField, policyFields } from "./check.ts";
import { valueAt } from "./errors.ts";
import { mayBeFound } from "./found.ts";
import { otherVariables } from "./layers.ts";
import { presetNames } from "./names.ts";
import { type Preset, presets } from "./presets.ts";
import type { Policy } from "./schema.ts";

/** The limit of most whole numbers in the schema. */
const mostOfUsual = 1_000_000_000;

const introduction = `# Policy reference

Made from the schema by \`palimpsest policy reference\`; do not edit by hand.

A policy says what is masked, guarded and truncated. Each layer overrides the one before it, field by field:

1. the defaults below
2. the preset
3. the policy file (TOML)
4. \`palimpsest.toml\` in the working directory, if no policy file is named
5. the environment
6. \`--set key=value\`, repeatable
7. the \`policy\` argument of a tool call

The last layer that names a preset decides which one. Our texts are in the language of \`locale\`, else of a named preset other than
\`balanced\`, else of the reader: French, Chinese, or English for every other language (\`LC_ALL\`, \`LC_MESSAGES\`, \`LANG\`, or the system's
on macOS and Windows), else of the preset.

The policy file is that of \`--policy\`, else of \`PALIMPSEST_POLICY\`, else \`palimpsest/palimpsest.toml\` in the user's configuration
folder (\`$XDG_CONFIG_HOME\`, \`~/.config\`; on Windows \`%APPDATA%\`). A change takes effect without a restart; while the file is
invalid or missing, the last valid one stays in force. \`[observation_masking.schema1]\` is another name of \`[mask]\`.

Values in the environment and in \`--set\` are TOML values (\`5\`, \`false\`, \`["truncate", "drop"]\`); anything else is text, \`null\` is
null, and an empty variable counts as absent. The variable of \`mask.window_turns\` is \`PALIMPSEST_MASK_WINDOW_TURNS\`. A key or value
that the schema does not allow is refused by name.`;

/** The text of `docs/policy.md`. */
export function policyReference(): string {
	const fields = policyFields();
	const rows = fields.map(({ key, type, default: value, description }) => {
		const shown = code(JSON.stringify(value));
		return [code(key), type === "true or false" ? shown : `${shown}; ${cell(shortType(type))}`, cell(description)];
	});
	const others = Object.entries(otherVariables).map(([name, meaning]) => `${code(name)}, ${meaning}`);
	const parts = [
		introduction,
		"## Fields",
		table(["Key", "Default; type", "Description"], rows),
		`Whole numbers are at most ${mostOfUsual} where no other limit is given. These variables are not fields: ${others.join("; ")}.`,
		"## A file that is merely found",
		describeFound(fields),
		"## Presets",
		...presetNames.map((name) => describePreset(name, presets[name], fields)),
	];
	return `${parts.join("\n\n")}\n`;
}

/** The type in the few words that a table has room for. */
function shortType(type: string): string {
	return type
		.replace(` and at most ${mostOfUsual}`, "")
		.replaceAll(/\ba (?=whole number|number|text|list|table)/g, "")
		.replaceAll(/(?:whole )?number, at least /g, "≥ ")
		.replaceAll(/text of [\w ]+ characters?/g, "text")
		.replaceAll(", at least ", " ≥ ")
		.replaceAll(", above ", " > ")
		.replaceAll(" and at most ", " and ≤ ")
		.replaceAll(/≥ (\S+) and ≤ /g, "$1 to ")
		.replace(/, or null$/, "");
}

/** What a policy file may set that nobody has named. */
function describeFound(fields: readonly PolicyField[]): string {
	const found = fields.map(({ key }) => ({ key, answer: mayBeFound(key) }));
	const never = found.flatMap(({ key, answer }) => (answer === "no" ? [code(key)] : []));
	const some = found.flatMap(({ key, answer }) => {
		if (typeof answer === "string") return [];
		return [`${code(key)}: ${answer.map((value) => code(JSON.stringify(value))).join(", ")}`];
	});
	return `A \`palimpsest.toml\` in the working directory may be anybody's. \`proxy\` and \`serve --http\` ignore it. Elsewhere it
cannot set ${never.join(", ")}. Some fields take only these values from it: ${some.join("; ")}. The rest is ignored with a warning (\`palimpsest policy check\`). If you
name the file by \`--policy\`, all of it counts.`;
}

function describePreset(name: string, preset: Preset, fields: readonly PolicyField[]): string {
	const changed = fields
		.map((field) => ({ field, value: valueAt(preset.policy, field.key.split(".")) }))
		.filter(({ field, value }) => value !== undefined && JSON.stringify(value) !== JSON.stringify(field.default));
	const lines = changed.map(({ field, value }) => `${field.key} = ${JSON.stringify(value)}`);
	const changes = lines.length === 0 ? "These are the defaults." : `\`\`\`toml\n${lines.join("\n")}\n\`\`\``;
	return `### ${code(name)}\n\n${preset.description}\n\nFrom: ${preset.source}\n\n${changes}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
	return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

const code = (text: string) => `\`${cell(text)}\``;
const cell = (text: string) => text.replaceAll("|", "\\|");

/** One paragraph, under 600 characters, on the effects of a policy on conversations, texts, or both. */
export function describePolicy(policy: Policy, what = { conversations: true, texts: true }): string {
	const { conversations, texts } = what;
	const sentences = [
		...(conversations ? [`Preset ${policy.preset}: ${describeMask(policy)}.`, describeGuard(policy)] : []),
		...(texts ? [describeTruncate(policy)] : []),
		...(conversations ? [`Wording: ${policy.locale}.`] : []),
	];
	return sentences.join(" ");
}

function describeTruncate({ truncate }: Policy): string {
	const { strategy, max_chars, max_tokens, head_chars, tail_chars } = truncate;
	const limit = max_tokens === null ? `${max_chars} characters` : `${max_tokens} tokens`;
	const isHeadTail = strategy === "head_tail" && max_tokens === null;
	const how = isHeadTail
		? `to head ${head_chars} + tail ${tail_chars}`
		: `to that, by strategy ${strategy === "head_tail" ? "auto" : strategy}`;
	return `truncate_output cuts texts over ${limit} ${how}.`;
}

function describeMask({ mask }: Policy): string {
	if (!mask.enabled || mask.window_turns <= 0) return "tool results are not masked";
	const turns = `${mask.window_turns} tool turn${mask.window_turns === 1 ? "" : "s"}`;
	const kept = [mask.keep_errors ? "errors kept" : "errors too"];
	if (mask.keep_last_k_per_tool) kept.push(`last ${mask.keep_last_k_per_tool} of each tool kept`);
	return `results older than ${turns} are masked, ${kept.join(", ")}`;
}

function describeGuard({ guard }: Policy): string {
	const share = guard.budget_ratio < 1 ? `${Number((guard.budget_ratio * 100).toFixed(1))} % of ` : "";
	const own = guard.context_window_override;
	const window = own === null ? "the model's window" : `${own} tokens`;
	const reserve = guard.reserve_tokens > 0 ? ` less ${guard.reserve_tokens} tokens` : "";
	const budget = `The guard fits ${share}${window}${reserve}`;
	if (guard.ladder.length === 0) return `${budget}: it only reports.`;
	const always = guard.truncate_when === "always" ? ", always" : "";
	const truncates = `truncate (results over ${guard.max_tool_result_chars} characters${always})`;
	const steps = guard.ladder.map((step) => (step === "truncate" ? truncates : step)).join(", then ");
	const pinned = guard.pin_task ? " and the task" : "";
	const last = guard.keep_last_messages;
	const newest = last === 1 ? "the newest message" : `the newest ${last} messages`;
	return `${budget} by ${steps}; keeps system messages${pinned} and ${newest}.`;
}
