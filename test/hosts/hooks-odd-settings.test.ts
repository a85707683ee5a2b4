import { expect, it } from "vitest";
import { hookTarget, withHook, withoutHook } from "../../src/hosts/hooks.ts";
import { hookHost } from "../support/hook-host.ts";

const target = hookTarget(hookHost("claude-code"), { isForProject: false, mostChars: 10_000, locale: undefined });
if (target.kind !== "entries") throw new Error("no entries");
/** The command of these tests is vitest's, which does not look like ours. */
const owned = { ...target, entries: target.entries.map((one) => ({ ...one, isOwn: isHook })) };

function isHook(command: string): boolean {
	return command.includes("hook claude-code");
}

it.each([
	'{\n  "__proto__": { "hooks": ["mine"] }\n}\n',
	'{\n  "\\u005f_proto__": "mine"\n}\n',
	'{\n  // mine\n  "theme": [{ "__proto__": null }],\n}\n',
])("settings with a member named __proto__ are left unchanged: %j", (text) => {
	expect(() => withHook(text, target)).toThrow(/`__proto__`.*left unchanged/);
	expect(withoutHook(text, target)).toBe(text);
});

it("a hook is added without reformatting other lines", () => {
	const text = '{\n  "theme": { "dark":   true },\n  "model": { "name": "x" }\n}\n';
	const entered = withHook(text, target).split("\n");
	expect(text.split("\n").filter((line) => !entered.includes(line))).toEqual([]);
	expect(withHook(entered.join("\n"), owned)).toBe(entered.join("\n"));
});

it.each([
	'{ "hooks": true, "hooks": { "PostToolUse": [] } }',
	'{ "hooks": { "PostToolUse": [1] }, "hooks": { "PostToolUse": [] } }',
])("a file with two members of one name is left unchanged: %s", (text) => {
	expect(() => withHook(text, target)).toThrow(expect.objectContaining({ code: "invalid_json" }));
});

it.each([
	['{\n  "hooks": { /* mine */\n  }\n}\n', "/* mine */"],
	['{\n  "hooks": {\n    "PostToolUse": [\n      // mine\n    ]\n  }\n}\n', "// mine"],
])("a comment in %j stays when the hooks are removed", (text, comment) => {
	const entered = withHook(text, owned);
	expect(entered).toContain("hook claude-code");
	const removed = withoutHook(entered, owned);
	expect(removed).toContain(comment);
	expect(removed).not.toContain("hook claude-code");
});
