import type { Fit } from "./format.ts";
import { isJsonObject, type JsonObject, stringAt } from "./json-values.ts";

/**
 * Probes a format that is known by something it alone has: it fits for certain where one message at least shows that and
 * no message contradicts it. `probeMessage` tells whether a message shows it; a text says what the message should have
 * been instead. `evidence` says what was looked for in vain.
 */
export function probeMessages(
	messages: readonly unknown[],
	evidence: string,
	probeMessage: (message: JsonObject, role: string) => boolean | string,
): Fit {
	let certain = false;
	for (let index = 0; index < messages.length; index += 1) {
		const outcome = probeOne(messages[index], probeMessage);
		if (typeof outcome === "string") return { fit: "none", message: index, expected: outcome };
		certain ||= outcome;
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: evidence };
}

function probeOne(message: unknown, probeMessage: (message: JsonObject, role: string) => boolean | string) {
	if (!isJsonObject(message)) return "an object with `role`";
	const role = stringAt(message, "role");
	return role === undefined ? "an object with a string `role`" : probeMessage(message, role);
}
