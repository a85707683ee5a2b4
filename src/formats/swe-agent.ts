import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { type Format, type Probed, probeEach, readTranscript } from "./format.ts";
import { stringAt } from "./json-values.ts";
import { MessageDraft, textContent } from "./parts.ts";

/**
 * The `trajectory` of a SWE-agent run whose file has no `history`. A step has an answer, its action and the observation;
 * a step without an answer is told to the model.
 */
export const sweAgent: Format = {
	name: "swe-agent",
	title: "SWE-agent trajectory",
	looksFor: "SWE-agent trajectory (steps with `action`, `observation` and `response` or `thought`, all texts)",
	probe: ({ messages }) => probeEach(messages, "a step with `action` and `observation`", probe),
	read: (located) => readTranscript("swe-agent", located, [], readStep),
	write: { message: writeMessage, appends: false },
};

function probe(step: unknown): Probed {
	if (!isJsonObject(step) || stringAt(step, "action") === undefined) return "an object with a string `action`";
	const { observation, response, thought } = step;
	if (typeof (response ?? thought) !== "string") return "`response` or `thought` as a string";
	return observation === undefined || observation === null || typeof observation === "string"
		? true
		: "`observation` as a string";
}

function readStep(step: JsonObject, path: Path): Message {
	const action = stringAt(step, "action") ?? "";
	const observation = stringAt(step, "observation");
	// The response is the thought and the action.
	const words = stringAt(step, "thought") || stringAt(step, "response") || "";
	const isTold = words === "" && action === "" && observation !== undefined;
	const draft = new MessageDraft(isTold ? "user" : "assistant", path);
	draft.count(isTold ? observation : words);
	if (isTold || (action === "" && !observation)) return draft;
	// As the observations in a `history`: the commands of SWE-agent are lines of a shell, without ids.
	const callId = "bash#1";
	draft.addCall(callId, "bash", action);
	if (observation !== undefined) draft.addResult({ callId, ...textContent(observation, [...path, "observation"]) });
	return draft;
}

function writeMessage({ role, text }: WrittenMessage) {
	const [words, observation] = role === "assistant" ? [text, null] : ["", text];
	return { action: "", observation, response: words, thought: words, state: "" };
}
