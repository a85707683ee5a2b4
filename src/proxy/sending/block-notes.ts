import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { objectOf } from "../../formats/json-text/value.ts";

/** A summary of the provider in the place of the first messages of the host (docs/proxy.md#the-provider-compacts). */
export interface BlockNote {
	/** How many messages of the host it replaces. */
	readonly messages: number;
	/** Of these messages, as `digestOf` names them. */
	readonly digest: string;
	/** Goes first, exactly as the provider returned it. */
	readonly message: JsonObject;
	/** Text that is missing from the summary. It goes into a message that was not sent before. */
	readonly lacks: string;
}

/** The message of the host that takes what a block lacks: nothing was bound to it when it did. */
export interface CarrierNote {
	readonly block: string;
	/** Messages up to it, and their name. */
	readonly messages: number;
	readonly digest: string;
}

export function readBlockNote(value: unknown): BlockNote | undefined {
	const { messages, digest, message, lacks } = objectOf(value);
	const isWhole = Number.isSafeInteger(messages) && typeof digest === "string" && isJsonObject(message);
	return isWhole && typeof lacks === "string" ? { messages: messages as number, digest, message, lacks } : undefined;
}

export function readCarrierNote(value: unknown): CarrierNote | undefined {
	const { block, messages, digest } = objectOf(value);
	const isWhole = Number.isSafeInteger(messages) && typeof digest === "string" && typeof block === "string";
	return isWhole ? { block, messages: messages as number, digest } : undefined;
}
