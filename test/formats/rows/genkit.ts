import { genkit } from "../../../src/formats/agent-frameworks.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const roles: Readonly<Record<string, string>> = { assistant: "model" };

/** Messages of Firebase Genkit. */
export const row: FormatRow = {
	format: genkit,
	write: (entries) => entries.flatMap(writeEntry),
	contents: (messages) =>
		messages
			.flatMap(({ content }) => content as JsonMessage[])
			.flatMap(({ toolResponse }) => (toolResponse ? [(toolResponse as JsonMessage).output] : [])),
	key: "messages",
	body: { tools: [{ name: "ls" }] },
	textsAlone: "none",
	shapes: [...textPartShapes, ...openShapes.map((shape) => ({ ...shape, masked: (text: unknown) => text }))],
	masksJson: ["an object", "a text part without a text"],
	pairsByPosition: true,
	flagsErrors: false,
	unknownRole: (role, text) => ({ role, content: [{ text }] }),
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: roles[entry.role] ?? entry.role, content: [{ text: entry.text }] }];
		case "calls": {
			const content = entry.calls.map(({ id, name }) => ({
				toolRequest: { ...present("name", name), ...present("ref", id), input: { path: "a.txt" } },
			}));
			return [{ role: "model", content }];
		}
		case "results": {
			const content = entry.results.map(({ id, content: output }) => ({
				toolResponse: { name: "read_file", ...present("ref", id), ...present("output", output) },
			}));
			return [{ role: "tool", content }];
		}
	}
}
