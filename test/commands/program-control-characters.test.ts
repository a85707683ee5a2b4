import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { withoutControls } from "../../src/errors.ts";
import { PalimpsestError } from "../../src/index.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

/** Clears the screen, sets the title, turns writing around, and the one-character forms of the same. */
const evil = "a\u001b[2J\u001b]0;owned\u0007b\u009b31mc\u202ed\re\u007f";
const control = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

let folder: string;
beforeAll(async () => {
	folder = await scratchFolder();
	await mkdir(join(folder, "many"));
	const text = JSON.stringify(agentConversation(4));
	await writeFile(join(folder, `${evil}.json`), text);
	await writeFile(join(folder, "many", `${evil}\n1.json`), text);
	await writeFile(join(folder, "many", `${evil}2.json`), text);
	await writeFile(join(folder, `${evil}.txt`), "[");
});

describe("a terminal shows file names without control characters", () => {
	it.each<[string, string[]]>([
		["replay of one file", ["replay", `${evil}.json`]],
		["replay of several", ["replay", "many", "--files"]],
		["replay of several, offline figures only", ["replay", "many", "--window-turns", "1"]],
		["replay as JSON", ["replay", "many", "--json"]],
		["replay of an invalid file", ["replay", `${evil}.txt`]],
		["a missing file", ["mask", `${evil}.none`]],
		["a file that is not JSON", ["mask", `${evil}.txt`]],
		["an output to truncate", ["truncate", `${evil}.none`]],
		["a policy file", ["mask", `${evil}.json`, "--policy", `${evil}.toml`]],
		["a setting", ["policy", "show", "--set", `${evil}=1`]],
		["a value of a setting", ["policy", "show", "--set", `mask.window_turns=${evil}`]],
		["a model", ["guard", `${evil}.json`, "--model", evil]],
		["an unknown option", ["mask", `--${evil}`]],
		["an unknown command", [evil]],
		["an unknown host", ["install", evil]],
		["a reference", ["recall", evil, "--archive", "memory"]],
		["an archive", ["recall", "ku193", "--archive", `/nowhere/${evil}`]],
		["a report", ["report", `${evil}.none`]],
		["a page that cannot be written", ["report", `${evil}.json`, "--html", `none/${evil}.html`]],
	])("%s", async (_, parameters) => {
		const { text, lines } = await runHere(parameters, { folder });
		expect(text + lines.join("\n")).not.toBe("");
		expect(text).not.toMatch(control);
		expect(lines.join("\n")).not.toMatch(control);
	});

	it("JSON keeps the exact name", async () => {
		const { text } = await runHere(["replay", "many", "--json"], { folder });
		const { files } = JSON.parse(text) as { files: { file: string }[] };
		expect(files.map(({ file }) => file).toSorted()).toEqual(
			[join("many", `${evil}\n1.json`), join("many", `${evil}2.json`)].toSorted(),
		);
	});
});

describe("every typed error", () => {
	it("is cleaned at its creation, except for line breaks and tabs", () => {
		const { message } = new PalimpsestError("unreadable_file", `Cannot read ${evil}:\n\t- é 漢 🦊 👩‍🚀`);
		expect(message).toBe("Cannot read a?[2J?]0;owned?b?31mc?d?e?:\n\t- é 漢 🦊 👩‍🚀");
		expect(withoutControls(message)).toBe(message);
	});
});
