import { expect, it } from "vitest";
import { enterHook, hookTarget, removeHook } from "../../src/hosts/hooks.ts";

const target = hookTarget("claude-code", { isForProject: false, mostChars: 10_000, locale: undefined });
if (target.kind !== "entry") throw new Error("no entry");
const { entry } = target;

it("settings in a member named __proto__ are not taken for those of the file, which is left as it is", () => {
	const text = '{\n  "__proto__": { "hooks": ["mine"] }\n}\n';
	expect(() => enterHook(text, entry)).toThrow(/left as it is/);
	expect(removeHook(text, entry)).toBe(text);
});

it("a hook is entered without laying out the lines of others anew", () => {
	const text = '{\n  "theme": { "dark":   true },\n  "model": { "name": "x" }\n}\n';
	const entered = enterHook(text, entry).split("\n");
	expect(text.split("\n").filter((line) => !entered.includes(line))).toEqual([]);
	expect(enterHook(entered.join("\n"), { ...entry, isOwn: () => true })).toBe(entered.join("\n"));
});

it.each([
	'{ "hooks": true, "hooks": { "PostToolUse": [] } }',
	'{ "hooks": { "PostToolUse": [1] }, "hooks": { "PostToolUse": [] } }',
])("a file with two members of one name is left as it is: %s", (text) => {
	expect(() => enterHook(text, entry)).toThrow(expect.objectContaining({ code: "invalid_json" }));
});
