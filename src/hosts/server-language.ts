import { isJsonObject } from "../engine/stringify.ts";
import { readRegularFile } from "../files/read-file.ts";
import { hosts } from "./hosts.ts";

/** The variables by which a host's entry sets the language of its server: directly, or by a preset. */
export type LanguageVariables = Readonly<Partial<Record<(typeof languageVariables)[number], string>>>;

const languageVariables = ["PALIMPSEST_PRESET", "PALIMPSEST_LOCALE"] as const;

/** Claude Code keeps its history in the file of its servers, which may grow large. */
const mostBytes = 32 * 1024 * 1024;

/** Where a host says which project its hook is called for; elsewhere it is the working directory. */
const projectVariables: Readonly<Record<string, string>> = {
	"claude-code": "CLAUDE_PROJECT_DIR",
	"gemini-cli": "GEMINI_PROJECT_DIR",
};

/**
 * The preset and the locale with which a host starts the server: as its entry in the project says, else the user's.
 * Empty where there is no entry, or no file that can be read: a hook never fails for it.
 */
export async function languageOfServer(search: {
	readonly hostName: string;
	readonly platform: NodeJS.Platform;
	readonly homeFolder: string;
	readonly workingDirectory: string;
	readonly environment: Readonly<Record<string, string | undefined>>;
}): Promise<LanguageVariables> {
	const { hostName, workingDirectory, environment } = search;
	const host = hosts.find(({ name }) => name === hostName);
	if (host === undefined) return {};
	const projectFolder = environment[projectVariables[hostName] ?? ""] || workingDirectory;
	const ofProject = await settingsIn(host.file({ ...search, projectFolder }));
	const ofUser = await settingsIn(host.file(search));
	// Claude Code's own command enters a server for one project in the user's file.
	const places = [valueAt(ofProject, host.key), valueAt(ofUser, ["projects", projectFolder, ...host.key])];
	const entry = [...places, valueAt(ofUser, host.key)].find(isJsonObject);
	const variables = entry?.env ?? entry?.environment;
	if (!isJsonObject(variables)) return {};
	return Object.fromEntries(
		languageVariables.flatMap((name) => {
			const value = variables[name];
			return typeof value === "string" && value !== "" ? [[name, value]] : [];
		}),
	);
}

async function settingsIn(file: string | undefined): Promise<unknown> {
	try {
		if (file === undefined) return undefined;
		const text = (await readRegularFile(file, mostBytes)).toString("utf8").replace(/^\uFEFF/, "");
		try {
			return JSON.parse(text);
		} catch {
			// With comments. The parser that takes them is slower, and not loaded for those without.
			return (await import("../json-text/settings.ts")).readSettings(text);
		}
	} catch {
		return undefined;
	}
}

function valueAt(value: unknown, key: readonly string[]): unknown {
	return key.reduce<unknown>((at, name) => (isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}
