import { isJsonObject, type JsonObject } from "../conversation/json.ts";

const mostBytes = 32 * 1024 * 1024;

/** A program's settings, TOML, YAML or JSON with comments; `{}` for a file that is absent or that the program itself could not read. */
export async function settingsIn(file: string): Promise<JsonObject> {
	const text = await textIn(file);
	if (text === undefined) return {};
	try {
		const value = await readerFor(file)(text);
		return isJsonObject(value) ? value : {};
	} catch {
		return {};
	}
}

/** The text of a file; `undefined` for one that is absent or cannot be read. */
export async function textIn(file: string): Promise<string | undefined> {
	try {
		const { readRegularFile } = await import("../files/access.ts");
		return (await readRegularFile(file, mostBytes)).toString("utf8").replace(/^\uFEFF/, "");
	} catch {
		return undefined;
	}
}

function readerFor(file: string): (text: string) => Promise<unknown> {
	if (file.endsWith(".toml")) return async (text) => (await import("smol-toml")).parse(text);
	if (/\.ya?ml$/.test(file)) return async (text) => (await import("yaml")).parse(text);
	return readJson;
}

async function readJson(text: string): Promise<unknown> {
	try {
		return JSON.parse(text);
	} catch {
		// With comments. The parser for those is slower, and loaded for such files only.
		return (await import("../json-text/settings.ts")).readSettings(text);
	}
}
