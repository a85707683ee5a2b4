import { parse } from "smol-toml";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { type LocaleName, localeNames } from "../../engine/policy/names.ts";
import type { ArrivalPolicy } from "../../engine/truncation/arrival-limit.ts";
import { readerLocale } from "../../operations/config/reader.ts";
import { checkNamespace } from "../../storage/archive/reference.ts";
import { stateFolderOf } from "../../storage/files/state-folder.ts";

/** What a mod does, by the settings of its user. */
export interface ModSettings extends ArrivalPolicy {
	readonly locale: LocaleName;
	/** The folder of the archive's namespace, and that of the figures. */
	readonly archive: string;
	readonly figuresFolder: string;
	readonly figures: "all" | "private" | "none";
	/** Our proxy counts the requests. */
	readonly isBehindProxy: boolean;
	/** A compaction masks old results where that is enough. */
	readonly masks: boolean;
	/** The percentage of the window from which the mod starts a compaction after a turn; 0 for never. */
	readonly compactAt: number;
}

/** `passive`: the mod leaves everything to the hook, because it could not keep a promise of the policy. */
export type ModState =
	| { readonly kind: "active"; readonly settings: ModSettings }
	| { readonly kind: "passive"; readonly reason: string };

export interface ModSurroundings {
	readonly platform: string;
	readonly environment: Readonly<Record<string, string | undefined>>;
	/** The folder of the session, in which a policy file may lie. */
	readonly folder: string;
}

const policyFileName = "palimpsest.toml";

/** The policy files that count, the user's first; each may be missing. */
export function policyFilesOf({ platform, environment, folder }: ModSurroundings): readonly string[] {
	const { PALIMPSEST_POLICY: named, APPDATA, XDG_CONFIG_HOME } = environment;
	const home = homeOf(environment);
	if (named) return [named.replace(/^~(?=[/\\])/, () => home)];
	const ofUser = platform === "win32" ? APPDATA : XDG_CONFIG_HOME;
	const configuration = ofUser && isAbsolute(ofUser) ? ofUser : `${home}/.config`;
	return [`${configuration}/palimpsest/${policyFileName}`, `${folder}/${policyFileName}`];
}

/**
 * The settings of a mod: `balanced`, with what the user's policy file and the options of the plugin say of cutting on arrival. The mod
 * writes files of the archive itself, so it stays passive with another archive, another preset or a redaction. `texts` are those of
 * `policyFilesOf`.
 */
export function modState(given: {
	readonly options: JsonObject;
	readonly surroundings: ModSurroundings;
	readonly texts: readonly (string | undefined)[];
}): ModState {
	const { options, surroundings, texts } = given;
	const { platform, environment } = surroundings;
	const policies: JsonObject[] = [];
	for (const text of texts) {
		try {
			policies.push(text === undefined ? {} : parse(text));
		} catch {
			return passive("a policy file is not valid TOML");
		}
	}
	const [own = {}] = policies;
	const presets = [environment.PALIMPSEST_PRESET, ...policies.map(({ preset }) => preset)];
	if (presets.some((preset) => preset && preset !== "balanced")) return passive("the policy names another preset");
	if (
		policies.some(redacts) ||
		environment.PALIMPSEST_ARCHIVE_REDACT ||
		environment.PALIMPSEST_ARCHIVE_REDACT_CREDENTIALS
	)
		return passive("the policy redacts what is archived");
	const { PALIMPSEST_ARCHIVE: place = "files", PALIMPSEST_NAMESPACE: namespace } = environment;
	if (place !== "" && place !== "files" && !isAbsolute(place))
		return passive("the archive is not a folder of this machine");
	const state = stateFolderOf({ platform, environment, homeFolder: homeOf(environment) });
	if (!isAbsolute(state)) return passive("the folder of this user is not known");
	let folder: string;
	try {
		folder = checkNamespace(namespace || "default");
	} catch {
		return passive("the archive's namespace has another form");
	}
	const [truncate, mask] = [tableAt(own, "truncate"), tableAt(own, "mask")];
	const locale = firstOf(localeNames, [options.language, environment.PALIMPSEST_LOCALE, own.locale]);
	const settings: ModSettings = {
		locale: locale ?? readerLocale(environment, () => undefined) ?? "en",
		truncate: {
			max_chars: firstSize([options.max_chars, truncate.max_chars]) ?? 16_000,
			command_chars: firstSize([options.command_chars, truncate.command_chars]) ?? 4_000,
		},
		mask: { thrift: firstOf(thrifts, [mask.thrift]) ?? "medium" },
		archive: `${place === "" || place === "files" ? `${state}/archive` : place}/${folder}`,
		figuresFolder: `${state}/figures`,
		figures: firstOf(["all", "private", "none"] as const, [environment.PALIMPSEST_FIGURES, own.figures]) ?? "all",
		isBehindProxy: Boolean(environment.PALIMPSEST_PROXY),
		masks: mask.enabled !== false,
		compactAt: percentage(options.compact_at),
	};
	return { kind: "active", settings };
}

/** Where our proxy would say that it runs, for a base URL that a person has set by hand: `launch` sets a variable of ours. */
export function proxyToAsk({ ANTHROPIC_BASE_URL: base = "" }: ModSurroundings["environment"]): string | undefined {
	const origin = /^http:\/\/(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?(?=\/|$)/.exec(base)?.[0];
	return origin && `${origin}/palimpsest/healthz`;
}

/** Whether a proxy of ours has answered. */
export function isProxy(answer: string): boolean {
	try {
		const health: unknown = JSON.parse(answer);
		return isJsonObject(health) && health.status === "ok" && typeof health.pid === "number" && "version" in health;
	} catch {
		return false;
	}
}

const thrifts = ["low", "medium", "high"] as const;

function passive(reason: string): ModState {
	return { kind: "passive", reason };
}

function redacts(policy: JsonObject): boolean {
	const { redact, redact_credentials: credentials } = tableAt(policy, "archive");
	return (Array.isArray(redact) && redact.length > 0) || credentials === true;
}

const tableAt = (table: JsonObject, key: string): JsonObject => (isJsonObject(table[key]) ? table[key] : {});

/** A value of another form is passed over. */
function firstOf<Name extends string>(known: readonly Name[], values: readonly unknown[]): Name | undefined {
	return values.map((value) => known.find((name) => name === value)).find((name) => name !== undefined);
}

/** Less room would hold no excerpt. */
const leastChars = 200;

function firstSize(values: readonly unknown[]): number | undefined {
	return values.map(Number).find((value) => Number.isSafeInteger(value) && value >= leastChars);
}

function percentage(value: unknown): number {
	const number = Number(value);
	return number >= 1 && number <= 100 ? number : 0;
}

const homeOf = ({ HOME, USERPROFILE }: ModSurroundings["environment"]) => HOME || USERPROFILE || "";

const isAbsolute = (path: string) => /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(path);
