import type { Plan } from "./plan.ts";
import { equalsPath, jsonPointer, type Message, type Transcript, withoutFrame } from "./transcript.ts";

/** Calls that words hold, and results in a frame: no API checks them, so nothing but this notices that one is lost. */
export function verifyObservations(what: {
	readonly before: Transcript;
	readonly after: Transcript;
	readonly plan: Plan;
	/** By message afterwards, its index before, or -1. */
	readonly origins: readonly number[];
	readonly report: (promise: "only_tool_results_edited" | "pairing_kept", detail: string) => unknown;
}): void {
	const { before, after, plan, origins, report } = what;
	for (const { path, message, ...edit } of plan) {
		const texts = before.messages[message]?.results.flatMap((result) => result.texts);
		const node = texts?.find((one) => one.frame && equalsPath(one.path, path));
		const text = edit.kind === "replace" && node ? withoutFrame(node, String(edit.replacement)) : "";
		if (text === undefined) report("only_tool_results_edited", `${jsonPointer(path)} loses what stands around it`);
	}
	after.messages.forEach((message, index) => {
		const origin = origins[index] ?? -1;
		const old = before.messages[origin];
		if (old && inWords(old) !== inWords(message))
			report("pairing_kept", `message ${origin} and its action or observation`);
	});
}

/** Ids of the calls and results of a message that are text. */
function inWords({ calls, results }: Message): string {
	const made = calls.filter(({ input }) => input !== undefined).map(({ id }) => id);
	const framed = results.filter(({ texts }) => texts[0]?.frame).map(({ callId }) => callId);
	return [...made, "", ...framed].join("\n");
}
