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
	{ title: "null", content: null, texts: [] },
	{ title: "nothing", content: undefined, texts: [] },
	{ title: "an empty list", content: [], texts: [] },
	{ title: "an object", content: { stdout: "x" }, texts: [] },
	{ title: "a number", content: 42, texts: [] },
	{ title: "a text part without a text", content: [{ type: "text" }], texts: [] },
];
