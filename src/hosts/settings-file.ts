import path from "node:path";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { HostSurroundings } from "./host.ts";

const mostBytes = 32 * 1024 * 1024;

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
	if (file.endsWith(".toml")) return (await import("smol-toml")).parse(text);
	return /\.ya?ml$/.test(file) ? (await import("yaml")).parse(text) : readJson(text);
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
