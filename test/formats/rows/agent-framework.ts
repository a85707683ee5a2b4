import { agentFramework } from "../../../src/formats/agent-frameworks.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { $type: "data", uri: "data:image/png;base64,AAAA", mediaType: "image/png" };

/** Messages of Microsoft's Agent Framework for .NET. */
export const row: FormatRow = {
	format: agentFramework,
	write: (entries) => entries.flatMap(writeEntry),
	contents: (messages) =>
		messages
			.flatMap(({ contents }) => contents as JsonMessage[])
			.filter(({ $type }) => $type === "functionResult")
			.map(({ result }) => result),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [...textPartShapes, ...openShapes.map((shape) => ({ ...shape, masked: (text: unknown) => text }))],
	image: { part: image, beside: (text) => [{ $type: "text", text }, image] },
	masksJson: ["an object", "a text part without a text"],
	flagsErrors: true,
	hasNoBlocks: true,
	unknownRole: (role, text) => ({ role, contents: [{ $type: "text", text }] }),
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: entry.role, contents: [{ $type: "text", text: entry.text }] }];
		case "calls": {
			const contents = entry.calls.map(({ id, name }) => ({
				$type: "functionCall",
				callId: id,
				...present("name", name),
				arguments: { path: "a.txt" },
			}));
			return [{ role: "assistant", contents }];
		}
		case "results": {
			const contents = entry.results.map(({ id, content, isError }) => ({
				$type: "functionResult",
				callId: id,
				...present("result", content),
				...(isError ? { exception: {} } : {}),
			}));
			return [{ role: "tool", contents }];
		}
	}
}
