import { describe, expect, it } from "vitest";
import { writeValues } from "../../../src/formats/json-text/edit.ts";
import { readJsonText } from "../../../src/formats/json-text/read.ts";
import { planToolList, type ToolChoice } from "../../../src/mcp/gateway/tool-list.ts";

const all: ToolChoice = { only: [], except: [] };
const tools = ["a", "b", "c"].map((name) => ({
	name,
	description: "One. Two is longer. Three is the longest of all.",
}));

function edited(text: string, choice: ToolChoice, ...added: readonly unknown[]): string {
	const document = readJsonText(text, "the text");
	return writeValues(document, planToolList(document.value as never, { path: [], choice, added }));
}

describe("a list of tools", () => {
	const text = `{ "tools" : ${JSON.stringify(tools, null, 1)}, "nextCursor":"x" }`;

	it("keeps every byte of the tools that stay", () => {
		expect(edited(text, all)).toBe(text);
		expect(JSON.parse(edited(text, { ...all, except: ["b"] }))).toEqual({
			tools: [tools[0], tools[2]],
			nextCursor: "x",
		});
	});

	it.each([
		[[], ["a", "b", "c", "z"]],
		[["c"], ["c", "z"]],
		[["none"], ["z"]],
	])("holds the tools of --only %j and the added one", (only, names) => {
		const { tools: left } = JSON.parse(edited(text, { ...all, only }, { name: "z" }));
		expect(left.map(({ name }: { name: string }) => name)).toEqual(names);
	});

	it("may be empty", () => {
		expect(edited('{"tools":[ ]}', all, { name: "z" })).toBe('{"tools":[{"name":"z"} ]}');
	});
});

describe("a long description", () => {
	const shortened = (describeMax: number) =>
		JSON.parse(edited(JSON.stringify({ tools: tools.slice(0, 1) }), { ...all, describeMax })).tools[0].description;

	it.each([
		[48, "One. Two is longer. Three is the longest of all."],
		[35, "One. Two is longer."],
		[30, "One. Two is longer."],
		[18, "One. Two is…"],
		[4, "One."],
	])("of 48 characters is at most %i", (most, expected) => {
		expect(shortened(most)).toBe(expected);
		expect(shortened(most).length).toBeLessThanOrEqual(most);
	});
});
