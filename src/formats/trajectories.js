import { isJsonObject } from "../engine/conversation/json.js";
import { keptFields, probeEach, readTranscript, roleOf } from "./format.js";
import {
	booleanAt,
	hasMember,
	idAt,
	listOf,
	memberAt,
	objectOf,
	objectsOf,
	stringAt,
	timeAt,
} from "./json-text/value.js";
import { readInlineMedia } from "./media.js";
import { MessageDraft, readOpenContent, readToolContent, textContent } from "./parts.js";
import { joinCopies, outputCopies, rememberCall } from "./session-files.js";
/**
 * Trajectories of the Agent Trajectory Interchange Format, which Harbor and Terminal-Bench write for every agent: a step has
 * a message, its calls and the observations. Source: docs/rfcs/0001-trajectory-format.md of harbor.
 */
export const atif = {
	name: "atif",
	title: "Harbor trajectory (ATIF)",
	looksFor:
		"Harbor trajectory (ATIF: steps with `step_id`, `source` and `message`; `tool_calls` next to `observation`)",
	probe: ({ messages }) => probeEach(messages, "a step with `step_id` and `source`", probeAtif),
	read: (located) => readTranscript("atif", located, [], readAtifStep),
	write: { message: writeAtifStep, appends: false },
};
const atifRoles = { system: "system", user: "user", agent: "assistant" };
function probeAtif(step) {
	if (!isJsonObject(step) || !hasMember(step, "step_id")) return "an object with `step_id`";
	const { source, message, tool_calls: calls, observation } = step;
	if (typeof source !== "string") return "`source` system, user or agent";
	if (message !== null && typeof message !== "string" && !Array.isArray(message))
		return "`message` as a string or a list of parts";
	if (calls != null && !Array.isArray(calls)) return "`tool_calls` as a list";
	return observation == null || Array.isArray(objectOf(observation).results)
		? true
		: "`observation` with a list of `results`";
}
function readAtifStep(step, path) {
	const draft = new MessageDraft(roleOf({ role: step.source }, atifRoles), path).setTime(timeAt(step, "timestamp"));
	const thinking = stringAt(step, "reasoning_content");
	if (thinking) draft.addThinking([...path, "reasoning_content"], thinking, false);
	draft.countParts(step.message || undefined, [...path, "message"], readInlineMedia);
	const values = new Map();
	for (const call of objectsOf(step.tool_calls)) {
		const id = idAt(call, "tool_call_id");
		draft.addCall(id, stringAt(call, "function_name"), call.arguments);
		rememberCall(values, id, call.arguments);
	}
	const observed = listOf(objectOf(step.observation).results);
	// A terminal shows the output of all calls of a step at once, even of calls that could not be parsed.
	if (draft.role === "assistant" && draft.calls.length === 0 && observed.length > 0)
		draft.addCall("step#1", undefined, "");
	for (const [index, value] of observed.entries()) {
		const result = objectOf(value);
		const at = [...path, "observation", "results", index];
		if (draft.calls.length === 0) {
			draft.count(result.content);
			continue;
		}
		const own = draft.calls[observed.length === draft.calls.length ? index : 0];
		const callId = idAt(result, "source_call_id") ?? own?.id;
		const content = readToolContent(result.content, [...at, "content"], readInlineMedia);
		// Harbor's converters also keep each program's own result in `extra` of the result or of the step.
		const search = { texts: content.texts, ofTheCall: values.get(callId ?? "") };
		const copies = joinCopies([
			outputCopies({ ...search, record: result, path: at, places: [["extra"]] }),
			outputCopies({ ...search, record: step, path, places: observed.length === 1 ? copyPlaces : [] }),
		]);
		const extra = objectOf(result.extra);
		const raw = objectOf(objectOf(extra.tool_result_metadata).raw_tool_result);
		const isError = booleanAt(extra, "is_error") ?? booleanAt(raw, "is_error");
		draft.addResult({ callId, ...content, ...copies, isError: isError || undefined });
	}
	return draft;
}
const copyPlaces = [["extra", "tool_result_metadata"]];
function writeAtifStep({ role, text, instead }) {
	const source = role === "assistant" ? "agent" : role;
	return { step_id: 0, ...keptFields(instead, ["step_id", "timestamp"]), source, message: text };
}
/** `AgentHistoryList` of browser-use. A step has the actions and their results. Only the newest screenshot is sent. */
export const browserUse = {
	name: "browser-use",
	title: "browser-use history",
	looksFor: "browser-use history (steps with `model_output`, whose `action` is a list, and `result`)",
	probe: ({ messages }) =>
		probeEach(messages, "a step with `model_output`", (step) => {
			if (!isJsonObject(step) || !hasMember(step, "model_output", "result")) return "an object with `model_output`";
			const [output, result] = [memberAt(step, "model_output"), memberAt(step, "result")];
			if (!itemsOf(result).every(isJsonObject)) return "`result` as a list of objects";
			if (output == null) return Array.isArray(result) ? hasMember(step, "model_output") : "`result` as a list";
			const { action } = objectOf(output);
			return Array.isArray(action) || isJsonObject(action) || "`model_output.action` as a list";
		}),
	read: (located) => readTranscript("browser-use", located, [], readBrowserStep),
	write: { message: writeBrowserStep, appends: false },
};
/** The first versions have one action and one result instead of lists. */
function itemsOf(value) {
	return isJsonObject(value) ? [value] : listOf(value);
}
function readBrowserStep(step, path) {
	const { model_output: output } = step;
	// In a step without an answer, the model gets the result.
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
	const numbers = new Map();
	for (const [index, one] of itemsOf(action).entries()) {
		const [name = "", input] = Object.entries(objectOf(one)).find(([, value]) => value !== null) ?? [];
		const number = (numbers.get(name) ?? 0) + 1;
		numbers.set(name, number);
		// Actions have no ids. Their results have the same order.
		const id = `${name || "action"}#${number}`;
		draft.addCall(id, name, input);
		const result = results[index];
		const at = Array.isArray(step.result) ? [...path, "result", index] : [...path, "result"];
		if (isJsonObject(result)) readBrowserResult(result, at, id, draft);
	}
	return draft;
}
function readBrowserResult(result, path, callId, draft) {
	const isError = typeof result.error === "string" && result.error !== "";
	const key = isError ? "error" : "extracted_content";
	const content = readOpenContent(result[key], [...path, key]);
	const memory = { record: result, path, places: [["long_term_memory"]], texts: content.texts };
	draft.addResult({ callId, ...content, ...outputCopies(memory), isError: isError || undefined });
}
function writeBrowserStep({ role, text, instead }) {
	const state = keptFields(objectOf(instead).state, ["url", "title", "tabs"]);
	const kept = { state, ...keptFields(instead, ["metadata"]) };
	if (role === "assistant") return { model_output: { memory: text, action: [] }, result: [], ...kept };
	return { model_output: null, result: [{ extracted_content: text, include_in_memory: true }], ...kept };
}
/**
 * The `trajectory` of a SWE-agent run whose file has no `history`. A step has an answer, its action and the observation;
 * a step without an answer goes to the model.
 */
export const sweAgent = {
	name: "swe-agent",
	title: "SWE-agent trajectory",
	looksFor: "SWE-agent trajectory (steps with `action`, `observation` and `response` or `thought`, all texts)",
	probe: ({ messages }) => probeEach(messages, "a step with `action` and `observation`", probeSweAgent),
	read: (located) => readTranscript("swe-agent", located, [], readSweAgentStep),
	write: { message: writeSweAgentStep, appends: false },
};
function probeSweAgent(step) {
	if (!isJsonObject(step) || stringAt(step, "action") === undefined) return "an object with a string `action`";
	const { observation, response, thought } = step;
	if (typeof (response ?? thought) !== "string") return "`response` or `thought` as a string";
	return observation == null || typeof observation === "string" ? true : "`observation` as a string";
}
function readSweAgentStep(step, path) {
	const action = stringAt(step, "action") ?? "";
	const observation = stringAt(step, "observation");
	// The response repeats the thought and the action.
	const words = stringAt(step, "thought") || stringAt(step, "response") || "";
	const isTold = words === "" && action === "" && observation !== undefined;
	const draft = new MessageDraft(isTold ? "user" : "assistant", path);
	draft.count(isTold ? observation : words);
	if (isTold || (action === "" && !observation)) return draft;
	// Same name and id as for a `history`: SWE-agent's commands are shell lines without ids.
	const callId = "bash#1";
	draft.addCall(callId, "bash", action);
	if (observation !== undefined) draft.addResult({ callId, ...textContent(observation, [...path, "observation"]) });
	return draft;
}
function writeSweAgentStep({ role, text }) {
	const [words, observation] = role === "assistant" ? [text, null] : ["", text];
	return { action: "", observation, response: words, thought: words, state: "" };
}
