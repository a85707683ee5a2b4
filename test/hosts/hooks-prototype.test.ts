import { expect, it } from "vitest";
import { enterHook, hookTarget, removeHook } from "../../src/hosts/hooks.ts";

it("a member named __proto__ is not taken for the settings that stand in it", () => {
	const target = hookTarget("claude-code", { isForProject: false, mostChars: 10_000, locale: undefined });
	if (target.kind !== "entry") throw new Error("no entry");
	const own = { ...target.entry, isOwn: (command: string) => command === target.entry.hook.command };
	const text = '{\n  "__proto__": { "hooks": ["mine"] }\n}\n';
	const entered = enterHook(text, own);
	const mine = (json: string) => Object.getOwnPropertyDescriptor(JSON.parse(json), "__proto__")?.value;
	expect(mine(entered)).toEqual({ hooks: ["mine"] });
	expect(enterHook(entered, own)).toBe(entered);
	expect(mine(removeHook(entered, own))).toEqual({ hooks: ["mine"] });
	expect(removeHook(text, own)).toBe(text);
});
