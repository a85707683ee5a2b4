import { isJsonObject } from "../engine/conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { enterJson, entryInJson, removeFromJson } from "../formats/json-text/settings.ts";
import { enteredCommand, shellArgument } from "./own-command.ts";

const key = ["statusLine"];

/**
 * Settings of Claude Code with our status line; all else stays unchanged. Throws `invalid_argument` if the user has another
 * one, and `invalid_json`. Source: https://code.claude.com/docs/en/statusline.
 */
export function withStatusLine(text = ""): string {
	const present = entryInJson(text, key);
	if (present !== undefined && !isOwn(present)) {
		const message =
			"The settings have a status line of their own, which was left unchanged. Remove `statusLine` first, or call `palimpsest statusline` in it.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const command = [...enteredCommand(), "statusline"].map(shellArgument).join(" ");
	return enterJson(text, key, { type: "command", command });
}

/** Settings without our status line. That of somebody else stays. Throws `invalid_json`. */
export function withoutStatusLine(text: string | undefined): string | undefined {
	return text !== undefined && isOwn(entryInJson(text, key)) ? removeFromJson(text, key) : text;
}

function isOwn(entry: unknown): boolean {
	return (
		isJsonObject(entry) &&
		typeof entry.command === "string" &&
		/(?:palimpsest|cli\.js)\S*["']? statusline$/i.test(entry.command)
	);
}
