import { isJsonObject, type JsonObject } from "../conversation/json.ts";

const mostBytes = 32 * 1024 * 1024;

/** A program's settings, TOML or JSON with comments; `{}` for a file that is absent or that the program itself could not read. */
export async function settingsIn(file: string): Promise<JsonObject> {
	try {
		const value = await readSettingsFile(file);
		return isJsonObject(value) ? value : {};
	} catch {
		return {};
	}
}

/** Rejects where `settingsIn` has nothing. */
export async function readSettingsFile(file: string): Promise<unknown> {
	const { readRegularFile } = await import("../files/access.ts");
	const text = (await readRegularFile(file, mostBytes)).toString("utf8").replace(/^\uFEFF/, "");
	return file.endsWith(".toml") ? (await import("smol-toml")).parse(text) : readJson(text);
}

/** JSON, also with comments. Rejects for other texts. */
export async function readJson(text: string): Promise<unknown> {
	try {
		return JSON.parse(text);
	} catch {
		// With comments. The parser for those is slower, and loaded for such files only.
		return (await import("../json-text/settings.ts")).readSettings(text);
	}
}
