import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { objectOf } from "../formats/json-text/value.ts";
import { exceptingLoopback, networkVariables } from "../operations/http/network-proxy.ts";
import {
	beforeDashes,
	laidOver,
	nothingSet,
	optionsGiven,
	providers,
	refusedLaunch,
	withVersionOf,
} from "./base-url.ts";
import type { HostSurroundings, LaunchSurroundings, Pointing } from "./host.ts";
import { readJson, readSettingsFile, settingsIn } from "./settings-file.ts";

type Variables = Readonly<Record<string, string | undefined>>;

const title = "Claude Code";

/**
 * Points Claude Code at the proxy: at the address of the provider that its environment and its settings choose. Throws PalimpsestError
 * `invalid_argument` where its requests would not pass the proxy, or would fail there. Sources:
 * https://code.claude.com/docs/en/llm-gateway and https://code.claude.com/docs/en/settings; the order of files, and of
 * clouds if several are chosen, is that of Claude Code 2.1.332.
 */
export async function pointClaudeCode(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, parameters } = where;
	const given = givenSettings(parameters);
	const [ofUser, ofProject, managed, own] = await Promise.all([
		environmentOfUser(where),
		environmentOfProject(where),
		environmentOfManaged(where),
		given && readGiven(given.value, where),
	]);
	const flag = environmentIn(own ?? {});
	const files = { ...ofUser, ...ofProject };
	const ofSettings: Variables = { ...files, ...flag, ...managed };
	const variables: Variables = { ...environment, ...ofSettings };
	if (variables.ANTHROPIC_UNIX_SOCKET)
		throw refusedLaunch(title, "ANTHROPIC_UNIX_SOCKET is set, so its requests use no address. Unset it");
	const { upstreams, set } = addresses(variables, where);
	// A folder of somebody else must not choose who gets the user's key. Claude Code does not use its address either.
	if (!(await isTrusted(where))) {
		const own: Variables = { ...ofUser, ...flag, ...managed };
		const isSameWay =
			isDeepStrictEqual(networkVariables(ofSettings), networkVariables(own)) &&
			isDeepStrictEqual(upstreams, addresses({ ...environment, ...own }, where).upstreams);
		const reason =
			"settings of this folder choose where its requests go, and Claude Code does not trust the folder yet. Run claude here once, accept the folder, and launch it again";
		if (!isSameWay) throw refusedLaunch(title, reason);
	}
	// The settings' own variables would replace ours.
	const setsExceptions = ofSettings.NO_PROXY !== undefined || ofSettings.no_proxy !== undefined;
	const excepted = setsExceptions ? exceptingLoopback(variables) : {};
	const all: Readonly<Record<string, string>> = { ...set, ...excepted };
	const fixed = Object.keys(all).find((name) => managed[name] !== undefined && managed[name] !== all[name]);
	if (fixed !== undefined)
		throw refusedLaunch(title, `the managed settings of this machine set ${fixed}, and nothing else can change it`);
	const common = {
		...nothingSet,
		upstreams,
		environment: set,
		network: networkVariables(ofSettings),
		refusesThreads: isYes(set[assumed] ?? variables[assumed]),
	};
	// Settings win over the environment, and the last flag over files. Of several flags only the last counts.
	const isSetAbove = Object.keys(all).some((name) => files[name] !== undefined || flag[name] !== undefined);
	const ours = { env: all };
	if (!isSetAbove) return common;
	if (!given) return { ...common, parameters: ["--settings", JSON.stringify(ours)] };
	// The program itself says what is wrong with its settings.
	if (own === undefined) return common;
	const name = "claude-settings.json";
	return {
		...common,
		// Not in an argument, which every program can read: settings hold keys.
		files: { [name]: JSON.stringify(laidOver(own, ours)) },
		ownParameters: given.replacedBy(path.join(where.folder, name)),
	};
}

const assumed = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL";

/** The folder of its own settings. */
export function settingsFolderOf({
	homeFolder,
	environment,
}: Pick<HostSurroundings, "homeFolder" | "environment">): string {
	return environment.CLAUDE_CONFIG_DIR || path.join(homeFolder, ".claude");
}

interface Addresses {
	readonly upstreams: Pointing["upstreams"];
	readonly set: Readonly<Record<string, string>>;
}

function addresses(variables: Variables, { origin, firstParty }: LaunchSurroundings): Addresses {
	for (const name of ["CLAUDE_CODE_USE_ANTHROPIC_AWS", "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD"])
		if (isYes(variables[name]))
			throw refusedLaunch(title, `${name} is set, and the proxy does not support that service`);
	const [useBedrock, useFoundry, useMantle, useVertex] = ["BEDROCK", "FOUNDRY", "MANTLE", "VERTEX"].map((name) =>
		isYes(variables[`CLAUDE_CODE_USE_${name}`]),
	);
	if (useBedrock) {
		const mantle = useMantle ? mantleAddress(variables, origin) : { upstreams: {}, set: {} };
		const bedrock = bedrockAddress(variables, origin);
		return { upstreams: { ...mantle.upstreams, ...bedrock.upstreams }, set: { ...mantle.set, ...bedrock.set } };
	}
	if (useFoundry) return foundryAddress(variables, origin);
	if (useMantle) return mantleAddress(variables, origin);
	if (useVertex) return vertexAddress(variables, origin);
	const anthropic = variables.ANTHROPIC_BASE_URL || providers.anthropic;
	const isOwn = firstParty && isAnthropicItself(anthropic) && variables[assumed] === undefined;
	return {
		upstreams: { anthropic },
		set: {
			ANTHROPIC_BASE_URL: origin,
			// Claude Code sends every tool's schema to any other address, unless told.
			...(variables.ENABLE_TOOL_SEARCH ? {} : { ENABLE_TOOL_SEARCH: "true" }),
			...(isOwn ? { [assumed]: "1" } : {}),
		},
	};
}

/** Whether an address is that of Anthropic's API, which no other server can hold. */
function isAnthropicItself(address: string): boolean {
	const { protocol, host } = URL.canParse(address) ? new URL(address) : { protocol: "", host: "" };
	return protocol === "https:" && host === "api.anthropic.com";
}

function bedrockAddress(variables: Variables, origin: string): Addresses {
	const own =
		variables.ANTHROPIC_BEDROCK_BASE_URL || variables.AWS_ENDPOINT_URL_BEDROCK_RUNTIME || variables.AWS_ENDPOINT_URL;
	if (!own) {
		refuseSigning(variables, ["CLAUDE_CODE_SKIP_BEDROCK_AUTH"]);
		refuseOtherRegion(variables, ["ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION"], awsRegion(variables));
	}
	const bedrock = own || `https://bedrock-runtime.${awsRegion(variables)}.amazonaws.com`;
	return { upstreams: { bedrock }, set: { ANTHROPIC_BEDROCK_BASE_URL: origin } };
}

/** Bedrock's endpoint with the shape of Anthropic's Messages. */
function mantleAddress(variables: Variables, origin: string): Addresses {
	const own = variables.ANTHROPIC_BEDROCK_MANTLE_BASE_URL;
	if (!own) refuseSigning(variables, ["CLAUDE_CODE_SKIP_MANTLE_AUTH"]);
	const anthropic = own || `https://bedrock-mantle.${awsRegion(variables)}.api.aws/anthropic`;
	return { upstreams: { anthropic }, set: { ANTHROPIC_BEDROCK_MANTLE_BASE_URL: origin } };
}

function foundryAddress(variables: Variables, origin: string): Addresses {
	const { ANTHROPIC_FOUNDRY_BASE_URL: own, ANTHROPIC_FOUNDRY_RESOURCE: resource } = variables;
	if (!own && !resource)
		throw refusedLaunch(
			title,
			"CLAUDE_CODE_USE_FOUNDRY is set without ANTHROPIC_FOUNDRY_RESOURCE or ANTHROPIC_FOUNDRY_BASE_URL. Set one of them",
		);
	return {
		upstreams: { anthropic: own || `https://${resource}.services.ai.azure.com/anthropic` },
		// It refuses to have both.
		set: { ANTHROPIC_FOUNDRY_BASE_URL: origin, ...(resource ? { ANTHROPIC_FOUNDRY_RESOURCE: "" } : {}) },
	};
}

function vertexAddress(variables: Variables, origin: string): Addresses {
	const region = variables.CLOUD_ML_REGION?.trim() || "us-east5";
	const own = variables.ANTHROPIC_VERTEX_BASE_URL;
	const regions = Object.keys(variables).filter((name) => name.startsWith("VERTEX_REGION_"));
	if (!own) refuseOtherRegion(variables, regions, region);
	const vertex = own || `https://${vertexHost(region)}/v1`;
	return { upstreams: { vertex }, set: { ANTHROPIC_VERTEX_BASE_URL: withVersionOf(vertex, origin) } };
}

function vertexHost(region: string): string {
	if (region === "global") return "aiplatform.googleapis.com";
	if (region === "us" || region === "eu") return `aiplatform.${region}.rep.googleapis.com`;
	return `${region}-aiplatform.googleapis.com`;
}

function awsRegion(variables: Variables): string {
	return variables.AWS_REGION || variables.AWS_DEFAULT_REGION || "us-east-1";
}

/** AWS checks a signature over the address that a request was sent to. */
function refuseSigning(variables: Variables, without: readonly string[]): void {
	if (variables.AWS_BEARER_TOKEN_BEDROCK || without.some((name) => isYes(variables[name]))) return;
	throw refusedLaunch(
		title,
		"it signs its requests to AWS for the address that it sends them to, which a proxy changes. Set AWS_BEARER_TOKEN_BEDROCK to an API key of Bedrock",
	);
}

/** Each region has an address of its own, and the proxy has one upstream for all models. */
function refuseOtherRegion(variables: Variables, names: readonly string[], region: string): void {
	const other = names.find((name) => variables[name] && variables[name] !== region);
	if (other === undefined) return;
	throw refusedLaunch(title, `${other} names another region than ${region}, and the proxy has one address. Unset it`);
}

/** As Claude Code reads its switches. */
function isYes(value: string | undefined): boolean {
	return /^\s*(?:1|true|yes|on)\s*$/i.test(value ?? "");
}

// ---- Its settings ----

/** Variables of the files of its user, from the lowest up, without those that a flag leaves out. */
function environmentOfUser(where: LaunchSurroundings): Promise<Variables> {
	const file = path.join(settingsFolderOf(where), "settings.json");
	return environmentOf([globalFile(where), ...(isRead("user", where) ? [file] : [])]);
}

/** The same for the files of the folder that it works in. */
function environmentOfProject(where: LaunchSurroundings): Promise<Variables> {
	const folder = path.join(where.projectFolder ?? ".", ".claude");
	return environmentOf([
		...(isRead("project", where) ? [path.join(folder, "settings.json")] : []),
		...(isRead("local", where) ? [path.join(folder, "settings.local.json")] : []),
	]);
}

function isRead(source: string, { parameters }: LaunchSurroundings): boolean {
	const sources = lastValue(parameters, "--setting-sources")?.value.split(",");
	return sources === undefined || sources.some((one) => one.trim() === source);
}

function globalFile({ homeFolder, environment }: LaunchSurroundings): string {
	return path.join(environment.CLAUDE_CONFIG_DIR || homeFolder, ".claude.json");
}

/** It asks nobody with one of these. */
const printFlags = ["-p", "--print", "-cp", "-pc"];

/** Where it asks nobody it trusts each folder; else one that its user has accepted, or a folder around it in the same repository. */
async function isTrusted(where: LaunchSurroundings): Promise<boolean> {
	if (isYes(where.environment.CLAUDE_CODE_SANDBOXED)) return true;
	if (beforeDashes(where.parameters).some((word) => printFlags.includes(word))) return true;
	const projects = objectOf((await settingsIn(globalFile(where))).projects);
	let folder = path.resolve(where.projectFolder ?? ".");
	for (;;) {
		if (objectOf(projects[folder.replaceAll("\\", "/")]).hasTrustDialogAccepted === true) return true;
		const above = path.dirname(folder);
		if (above === folder || existsSync(path.join(folder, ".git"))) return false;
		folder = above;
	}
}

/** Variables of the organisation's files; settings that are kept elsewhere cannot be read. */
async function environmentOfManaged({ platform, environment }: LaunchSurroundings): Promise<Variables> {
	const folder =
		platform === "darwin"
			? "/Library/Application Support/ClaudeCode"
			: platform === "win32"
				? path.join(environment.ProgramFiles || "C:\\Program Files", "ClaudeCode")
				: "/etc/claude-code";
	const more = path.join(folder, "managed-settings.d");
	const names = await readdir(more).catch(() => []);
	const files = names.filter((name) => name.endsWith(".json")).sort();
	return environmentOf([path.join(folder, "managed-settings.json"), ...files.map((name) => path.join(more, name))]);
}

async function environmentOf(files: readonly string[]): Promise<Variables> {
	const settings = await Promise.all(files.map(settingsIn));
	return Object.assign({}, ...settings.map(environmentIn));
}

function environmentIn(settings: JsonObject): Variables {
	const entries = Object.entries(objectOf(settings.env)).map(([name, value]) => [name, String(value)] as const);
	return Object.fromEntries(entries);
}

/** The settings that the user gives in a flag. */
function givenSettings(parameters: readonly string[]) {
	return lastValue(parameters, "--settings");
}

/** A file, or JSON; `undefined` for what the program itself refuses. */
async function readGiven(value: string, { projectFolder = "." }: LaunchSurroundings): Promise<JsonObject | undefined> {
	const isJson = value.trim().startsWith("{");
	const reading = isJson ? readJson(value) : readSettingsFile(path.resolve(projectFolder, value));
	const settings = await reading.catch(() => undefined);
	return isJsonObject(settings) ? settings : undefined;
}

/** The last value of an option, as `--name value` or `--name=value`, among arguments before `--`. */
function lastValue(parameters: readonly string[], name: string) {
	const option = optionsGiven(parameters, name).at(-1);
	if (option === undefined) return undefined;
	const { value, at, words } = option;
	const replacedBy = (other: string) =>
		parameters.toSpliced(at, words, ...(words === 1 ? [`${name}=${other}`] : [name, other]));
	return { value, replacedBy };
}
