import type { Archive } from "../archive/archive.ts";
import type { Policy } from "../policy/schema.ts";
import type { Originals } from "../policy/wordings.ts";

/** What a request does with originals. */
export interface KeepsOriginals {
	/** Where what is taken out is kept; without one nothing is, and placeholders name no reference. */
	readonly archive?: Archive | undefined;
	/** Whether the agent that reads the conversation is offered `recall_original`; by default it is not. */
	readonly recall?: "offered" | undefined;
}

/** What becomes of the originals of a request. */
export function originalsOf({ archive, recall, policy }: KeepsOriginals & { readonly policy: Policy }): Originals {
	if (!archive) return "not_archived";
	return recall === "offered" && policy.archive.recall_hint ? "recallable" : "archived";
}
