import { outputOf } from "../support/sample-text.ts";
import type { ContentShape } from "./format-row.ts";

const parts = [
	{ type: "text", text: outputOf("one"), cache_control: { type: "ephemeral" }, x: 1 },
	{ type: "text", text: outputOf("two"), y: 2 },
];

/** Contents of results where they are strings or lists of parts: many formats share these. */
export const textPartShapes: readonly ContentShape[] = [
	{
		title: "a list of texts",
		content: parts,
		texts: [outputOf("one"), outputOf("two")],
		masked: (text) => [{ ...parts[0], text }],
	},
	{
		title: "a part of a type of its own with a text",
		content: [{ type: "tool_output", text: outputOf("one") }],
		texts: [outputOf("one")],
		masked: (text) => [{ type: "tool_output", text }],
	},
	{ title: "null", content: null, texts: [] },
	{ title: "nothing", content: undefined, texts: [] },
	{ title: "an empty list", content: [], texts: [] },
	{ title: "an object", content: { stdout: "x" }, texts: [] },
	{ title: "a number", content: 42, texts: [] },
	{ title: "a text part without a text", content: [{ type: "text" }], texts: [] },
];

const records = [
	{ query: "a.txt", result: outputOf("one"), success: true },
	{ query: "b.txt", result: outputOf("two"), success: true },
];

/** Contents that no API defines, and programs write: what a tool returned, as it is. */
export const openShapes: readonly ContentShape[] = [
	{ title: "an object around a long text", content: { stdout: outputOf("one") }, texts: [outputOf("one")] },
	{ title: "a list of records", content: records, texts: [outputOf("one"), outputOf("two")] },
	{
		title: "a list of strings",
		content: [outputOf("one"), outputOf("two")],
		texts: [outputOf("one"), outputOf("two")],
	},
];
