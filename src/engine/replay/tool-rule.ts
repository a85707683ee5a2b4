import type { MaskPolicy } from "../../policy/schema.ts";

/** The policy's rule for a tool; its name is untrusted. */
export function ruleOf({ tools }: MaskPolicy, toolName = ""): MaskPolicy["tools"][string] | undefined {
	return Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
}
