import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { type Format, keptFields, probeEach, readTranscript } from "./format.ts";
import { hasMember, listOf, memberAt, objectOf, timeAt } from "./json-values.ts";
import { MessageDraft, noContent, readOpenContent } from "./parts.ts";
import { outputCopies } from "./session-files.ts";

/** `AgentHistoryList` of browser-use. A step has the actions and their results. Only the newest screenshot is sent. */
export const browserUse: Format = {
	name: "browser-use",
	title: "browser-use history",
	looksFor: "browser-use history (steps with `model_output`, whose `action` is a list, and `result`)",
	probe: ({ messages }) =>
		probeEach(messages, "a step with `model_output`", (step) => {
			if (!isJsonObject(step) || !hasMember(step, "model_output", "result")) return "an object with `model_output`";
			const [output, result] = [memberAt(step, "model_output"), memberAt(step, "result")];
			if (!itemsOf(result).every(isJsonObject)) return "`result` as a list of objects";
			if (output === null || output === undefined) return Array.isArray(result) || "`result` as a list";
			const { action } = objectOf(output);
			return Array.isArray(action) || isJsonObject(action) || "`model_output.action` as a list";
		}),
	read: (located) => readTranscript("browser-use", located, [], readStep),
	write: { message: writeMessage, appends: false },
};

/** The first versions had one action and one result instead of lists. */
function itemsOf(value: unknown): readonly unknown[] {
	return isJsonObject(value) ? [value] : listOf(value);
}

function readStep(step: JsonObject, path: Path): Message {
	const { model_output: output } = step;
	// A step without an answer: its result is told to the model.
	const draft = new MessageDraft(isJsonObject(output) ? "assistant" : "user", path);
	const end = timeAt(objectOf(step.metadata), "step_end_time");
	draft.setTime(timeAt(objectOf(step.metadata), "step_start_time"));
	if (end !== undefined && draft.role === "assistant") draft.endTime = end;
	const results = itemsOf(step.result);
	if (!isJsonObject(output)) {
		for (const result of results) draft.count(objectOf(result).error ?? objectOf(result).extracted_content);
		return draft;
	}
	const { action, current_state: state, ...thoughts } = output;
	draft.count(...Object.values({ ...objectOf(state), ...thoughts }).filter((value) => value !== ""));
	const numbers = new Map<string, number>();
	for (const [index, one] of itemsOf(action).entries()) {
		const [name = "", input] = Object.entries(objectOf(one)).find(([, value]) => value !== null) ?? [];
		const number = (numbers.get(name) ?? 0) + 1;
		numbers.set(name, number);
		// Actions have no ids: their results are in the same order.
		const id = `${name || "action"}#${number}`;
		draft.addCall(id, name, input);
		const result = results[index];
		const at = Array.isArray(step.result) ? [...path, "result", index] : [...path, "result"];
		if (isJsonObject(result)) readResult(result, at, id, draft);
	}
	return draft;
}

function readResult(result: JsonObject, path: Path, callId: string, draft: MessageDraft): void {
	const isError = typeof result.error === "string" && result.error !== "";
	const key = isError ? "error" : "extracted_content";
	const content = result[key] === null ? noContent : readOpenContent(result[key], [...path, key]);
	const memory = { record: result, path, places: [["long_term_memory"]], texts: content.texts };
	draft.addResult({ callId, ...content, copies: outputCopies(memory), isError: isError || undefined });
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	const state = keptFields(objectOf(instead).state, ["url", "title", "tabs"]);
	const kept = { state, ...keptFields(instead, ["metadata"]) };
	if (role === "assistant") return { model_output: { memory: text, action: [] }, result: [], ...kept };
	return { model_output: null, result: [{ extracted_content: text, include_in_memory: true }], ...kept };
}
