import { AsyncLocalStorage } from "node:async_hooks";
import path from "node:path";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { refusedLaunch } from "./base-url.ts";
import type { HostSurroundings, LaunchedProgram } from "./host.ts";

const mostBytes = 32 * 1024 * 1024;

/** The settings that could not be read, while a program is pointed. */
const brokenSettings = new AsyncLocalStorage<{ readonly file: string; readonly error: Error }[]>();

/**
 * The same program. If it cannot be pointed and a file of its settings could not be read, the refusal names that file: what it would
 * name is absent because of it. A program that can be pointed without the file starts, and says itself what is wrong.
 */
export function namingBrokenSettings(program: LaunchedProgram): LaunchedProgram {
	const point: LaunchedProgram["point"] = async (where) => {
		const broken: { file: string; error: Error }[] = [];
		try {
			return await brokenSettings.run(broken, () => program.point(where));
		} catch (error) {
			const [first] = broken;
			if (first === undefined || !(error instanceof PalimpsestError)) throw error;
			const { settingsProblem } = await import("../formats/json-text/settings.ts");
			throw refusedLaunch(program.title, `${first.file} cannot be read: ${settingsProblem(first.error)}`);
		}
	};
	return { ...program, point };
}

/** A program's settings, TOML, YAML or JSON with comments; `{}` for a file that is absent or that the program itself could not read. */
export async function settingsIn(file: string): Promise<JsonObject> {
	try {
		const value = await readSettingsFile(file);
		return isJsonObject(value) ? value : {};
	} catch {
		return {};
	}
}

/** The text of a file; `undefined` for one that is absent or cannot be read. */
export async function textIn(file: string): Promise<string | undefined> {
	return readText(file).catch(() => undefined);
}

/** The first file of variables on the way up to the user's folder: `.env`, or before it that in a folder of the program's. */
export async function projectEnvFile(
	{ projectFolder = ".", homeFolder }: Pick<HostSurroundings, "projectFolder" | "homeFolder">,
	ownFolder: string,
): Promise<string | undefined> {
	for (let at = path.resolve(projectFolder); at !== homeFolder; at = path.dirname(at)) {
		for (const file of [path.join(at, ownFolder, ".env"), path.join(at, ".env")]) {
			if ((await textIn(file)) !== undefined) return file;
		}
		if (at === path.dirname(at)) return undefined;
	}
	return undefined;
}

/** Rejects where `settingsIn` has nothing. */
export async function readSettingsFile(file: string): Promise<unknown> {
	const text = await readText(file);
	try {
		if (file.endsWith(".toml")) return (await import("./toml.ts")).readToml(text, "it is not valid TOML");
		return /\.ya?ml$/.test(file) ? await readYaml(text) : await readJson(text);
	} catch (error) {
		brokenSettings.getStore()?.push({ file, error: error as Error });
		throw error;
	}
}

async function readYaml(text: string): Promise<unknown> {
	const { parse, YAMLError } = await import("yaml");
	try {
		return parse(text);
	} catch (error) {
		const at = error instanceof YAMLError ? error.linePos?.[0] : undefined;
		throw new Error(`it is not valid YAML${at ? ` (line ${at.line}, column ${at.col})` : ""}`);
	}
}

async function readText(file: string): Promise<string> {
	const { readRegularFile } = await import("../storage/files/access.ts");
	return (await readRegularFile(file, mostBytes)).toString("utf8").replace(/^\uFEFF/, "");
}

/** JSON, also with comments. Rejects for other texts. */
export async function readJson(text: string): Promise<unknown> {
	try {
		return JSON.parse(text);
	} catch {
		// With comments. The parser for those is slower, and loaded for such files only.
		return (await import("../formats/json-text/settings.ts")).readSettings(text);
	}
}
