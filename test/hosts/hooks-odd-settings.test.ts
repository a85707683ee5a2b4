import { expect, it } from "vitest";
import { enterHooks, hookTarget, removeHooks } from "../../src/hosts/hooks.ts";

const target = hookTarget("claude-code", { isForProject: false, mostChars: 10_000, locale: undefined });
if (target.kind !== "entries") throw new Error("no entries");
const { entries } = target;

it("settings in a member named __proto__ are not taken for those of the file, which is left as it is", () => {
	const text = '{\n  "__proto__": { "hooks": ["mine"] }\n}\n';
	expect(() => enterHooks(text, entries)).toThrow(/left as it is/);
	expect(removeHooks(text, entries)).toBe(text);
});

it("a hook is entered without laying out the lines of others anew", () => {
	const text = '{\n  "theme": { "dark":   true },\n  "model": { "name": "x" }\n}\n';
	const owned = entries.map((entry) => ({ ...entry, isOwn: () => true }));
	const entered = enterHooks(text, entries).split("\n");
	expect(text.split("\n").filter((line) => !entered.includes(line))).toEqual([]);
	expect(enterHooks(entered.join("\n"), owned)).toBe(entered.join("\n"));
});

it.each([
	'{ "hooks": true, "hooks": { "PostToolUse": [] } }',
	'{ "hooks": { "PostToolUse": [1] }, "hooks": { "PostToolUse": [] } }',
])("a file with two members of one name is left as it is: %s", (text) => {
	expect(() => enterHooks(text, entries)).toThrow(expect.objectContaining({ code: "invalid_json" }));
});

it.each([
	['{\n  "hooks": { /* mine */\n  }\n}\n', "/* mine */"],
	['{\n  "hooks": {\n    "PostToolUse": [\n      // mine\n    ]\n  }\n}\n', "// mine"],
])("a comment in %j stays when the hooks are removed", (text, comment) => {
	// The command of these tests is vitest's.
	const owned = entries.map((entry) => ({
		...entry,
		isOwn: (command: string) => command.includes("hook claude-code"),
	}));
	const entered = enterHooks(text, owned);
	expect(entered).toContain("hook claude-code");
	const removed = removeHooks(entered, owned);
	expect(removed).toContain(comment);
	expect(removed).not.toContain("hook claude-code");
});
