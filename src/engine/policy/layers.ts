import { parse, TomlError } from "smol-toml";
import { checkPolicyLayer, inspectPolicyLayer, type PolicyInspection, policyFields } from "./check.ts";
import { invalidPolicy, quote, suggestion } from "./errors.ts";
import { presets } from "./presets.ts";
import { type Policy, type PolicyLayer, type Prices, policySchema } from "./schema.ts";

/**
 * Lays the preset that the last layer names over the schema's defaults, and the layers over both. Without a `locale`, a
 * named preset of the source documents speaks its own language; otherwise the reader's counts. Frozen.
 */
export function resolvePolicy(layers: readonly PolicyLayer[]): Policy {
	const { reader, ...set } = layers.reduce<PolicyLayer>(mergeTables, {});
	const preset = set.preset ?? policySchema.shape.preset.parse(undefined);
	const start = presets[preset].policy;
	if (reader !== undefined && (set.preset === undefined || preset === "balanced")) set.locale ??= reader;
	const sameLocale = set.locale === undefined || set.locale === start.locale;
	const layer = { ...mergeTables(sameLocale ? start : withoutTemplates(start), set), preset };
	const policy = frozen(policySchema.parse(layer));
	setPrices.set(policy.prices, new Set(Object.keys(layer.prices ?? {})));
	return policy;
}

const setPrices = new WeakMap<Prices, ReadonlySet<string>>();

/** The fields of `[prices]` that a layer sets. Where none does, the prices of the model count. */
export function pricesSetIn(prices: Prices): ReadonlySet<string> {
	return setPrices.get(prices) ?? new Set();
}

function frozen<Value>(value: Value): Value {
	if (typeof value !== "object" || value === null) return value;
	for (const inner of Object.values(value)) frozen(inner);
	return Object.freeze(value);
}

/** Removes the templates of a preset, which do not fit another locale. */
function withoutTemplates(layer: PolicyLayer): PolicyLayer {
	return JSON.parse(JSON.stringify(layer, (key, value) => (key.endsWith("_template") ? undefined : value)));
}

/** Lays one table over another, field by field. Lists are replaced; neither argument is changed. */
function mergeTables<Table extends object>(below: Table, above: Table): Table {
	const merged = new Map<string, unknown>(Object.entries(below));
	for (const [key, value] of Object.entries(above)) {
		if (value === undefined) continue;
		const old = merged.get(key);
		merged.set(key, isTable(old) && isTable(value) ? mergeTables(old, value) : value);
	}
	return Object.fromEntries(merged) as Table;
}

function isTable(value: unknown): value is object {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function parsePolicyText(text: string, source: string): PolicyLayer {
	let value: unknown;
	try {
		value = parse(text);
	} catch (error) {
		if (!(error instanceof TomlError)) throw error;
		const reason = error.message.split("\n", 1)[0]?.replace(/^Invalid TOML document: /, "");
		throw invalidPolicy(source, [`line ${error.line}, column ${error.column}: not valid TOML (${reason})`]);
	}
	return checkPolicyLayer(value, source);
}

/** Values are TOML, or else text; later settings win. Throws `invalid_policy`. */
export function settingsLayer(settings: readonly string[]): PolicyLayer {
	const parsed = settings.map((setting) => {
		const equals = setting.indexOf("=");
		if (equals < 1) return refused(`expected key=value, such as mask.window_turns=5, got ${quote(setting)}`);
		return parseSetting(setting.slice(0, equals).trim(), setting.slice(equals + 1).trim());
	});
	return layerOf(parsed, "--set");
}

function layerOf(inspections: readonly PolicyInspection[], source: string): PolicyLayer {
	const problems = inspections.flatMap((inspection) => inspection.problems);
	if (problems.length > 0) throw invalidPolicy(source, problems);
	return inspections.map(({ layer }) => layer).reduce<PolicyLayer>(mergeTables, {});
}

function refused(problem: string): PolicyInspection {
	return { layer: {}, problems: [problem] };
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Our environment variables that set no field of the policy. */
export const otherVariables = {
	PALIMPSEST_POLICY: "the path of the policy file",
	PALIMPSEST_ARCHIVE: "where originals are kept, as `--archive`",
	PALIMPSEST_PROXY: "the proxy in front of a program, which `launch` and the plugins set",
	PALIMPSEST_MOD: "1 or masked, as our mod inside Claude Code sets it for its hook",
	PALIMPSEST_TOOLS: "the tools that the server offers, as `serve --tools`",
	PALIMPSEST_NAMESPACE: "the part of the archive, as `--namespace`",
	PALIMPSEST_AUTH_TOKENS: "who may use the server over HTTP, as in the file of `--auth-tokens`",
	PALIMPSEST_STATE_KEY: "a key of 32 bytes or more for several processes behind a balancer",
	PALIMPSEST_LLM_URL: "the base URL of a chat-completions endpoint for summaries",
	PALIMPSEST_LLM_MODEL: "its model",
	PALIMPSEST_LLM_KEY: "its key",
	PALIMPSEST_LLM_TIMEOUT_MS: "the longest request to it, in milliseconds",
} as const;

const prefix = "PALIMPSEST_";

/** Values are read as in `--set`; an empty variable counts as absent. Throws `invalid_policy`. */
export function environmentLayer(environment: Environment): PolicyLayer {
	const settings = Object.entries(environment).flatMap(([name, text]) => {
		return name.startsWith(prefix) && text && !Object.hasOwn(otherVariables, name) ? [{ name, text }] : [];
	});
	if (settings.length === 0) return layerOf([], "the environment");
	const keys = new Map(policyFields().map((field) => [field.environmentName, field.key]));
	const known = [...keys.keys(), ...Object.keys(otherVariables)].map((name) => name.slice(prefix.length));
	const parsed = settings.map(({ name, text }) => {
		const key = keys.get(name);
		if (key !== undefined) {
			const { layer, problems } = parseSetting(key, text);
			return { layer, problems: problems.map((problem) => `${name} sets ${problem}`) };
		}
		const near = suggestion(name.slice(prefix.length), known).replace("mean ", `mean ${prefix}`);
		return refused(`${/^[A-Z0-9_]{1,80}$/i.test(name) ? name : quote(name)}: unknown variable.${near}`);
	});
	return layerOf(parsed, "the environment");
}

/** `text` is a TOML value, `null`, which TOML lacks, or any other text. */
function parseSetting(key: string, text: string): PolicyInspection {
	const table = (inner: unknown, part: string) => Object.fromEntries([[part, inner]]);
	return inspectPolicyLayer(key.split(".").reduceRight<unknown>(table, readValue(text)));
}

function readValue(text: string): unknown {
	if (text.trim() === "null") return null;
	try {
		const table = parse(`value = ${text}`);
		// A text with line breaks could define more than one value.
		return Object.keys(table).length === 1 ? table.value : text;
	} catch {
		return text;
	}
}
