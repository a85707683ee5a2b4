import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path, Role } from "../conversation/transcript.ts";
import { type Format, keptFields, type Probed, probeEach, readTranscript } from "./format.ts";
import { booleanAt, hasMember, idAt, listOf, objectOf, stringAt, timeAt } from "./json-values.ts";
import { readInlineMedia } from "./media.ts";
import { MessageDraft, noContent, readToolContent } from "./parts.ts";
import { type CallValues, outputCopies, rememberCall } from "./session-files.ts";

/**
 * Trajectories of the Agent Trajectory Interchange Format, which Harbor and Terminal-Bench write for every agent: a step has
 * a message, its calls and what was observed. Source: docs/rfcs/0001-trajectory-format.md of harbor.
 */
export const atif: Format = {
	name: "atif",
	title: "Harbor trajectory (ATIF)",
	looksFor: "Harbor trajectory (ATIF: steps with `step_id`, `source` and `message`; `tool_calls` beside `observation`)",
	probe: ({ messages }) => probeEach(messages, "a step with `step_id` and `source`", probe),
	read: (located) => readTranscript("atif", located, [], readStep),
	write: { message: writeMessage, appends: false },
};

const roles: Readonly<Record<string, Role>> = { system: "system", user: "user", agent: "assistant" };

function probe(step: unknown): Probed {
	if (!isJsonObject(step) || !hasMember(step, "step_id")) return "an object with `step_id`";
	const { source, message, tool_calls: calls, observation } = step;
	if (typeof source !== "string") return "`source` system, user or agent";
	if (message !== null && typeof message !== "string" && !Array.isArray(message))
		return "`message` as a string or a list of parts";
	if (calls !== undefined && calls !== null && !Array.isArray(calls)) return "`tool_calls` as a list";
	return observation === undefined || observation === null || Array.isArray(objectOf(observation).results)
		? true
		: "`observation` with a list of `results`";
}

function readStep(step: JsonObject, path: Path): Message {
	const source = stringAt(step, "source") ?? "";
	const draft = new MessageDraft((Object.hasOwn(roles, source) && roles[source]) || "other", path);
	draft.setTime(timeAt(step, "timestamp"));
	const thinking = stringAt(step, "reasoning_content");
	if (thinking) draft.addThinking([...path, "reasoning_content"], thinking, false);
	draft.readParts(step.message || undefined, [...path, "message"], (part, at) => {
		if (part.type === "text") draft.count(part.text);
		else draft.countPart(part, readInlineMedia(part, at));
	});
	const values: CallValues = new Map();
	for (const call of listOf(step.tool_calls)) {
		const { arguments: input } = objectOf(call);
		const id = idAt(objectOf(call), "tool_call_id");
		draft.addCall(id, stringAt(objectOf(call), "function_name"), input);
		rememberCall(values, id, input);
	}
	const observed = listOf(objectOf(step.observation).results);
	// Terminals show the output of all calls of a step at once, also of calls that nobody could read.
	if (draft.role === "assistant" && draft.calls.length === 0 && observed.length > 0)
		draft.addCall("step#1", undefined, "");
	for (const [index, result] of observed.entries()) {
		const at = [...path, "observation", "results", index];
		if (draft.calls.length === 0) draft.count(objectOf(result).content);
		else readResult({ result: objectOf(result), path: at, step, stepPath: path, index, values }, draft);
	}
	return draft;
}

interface Observed {
	readonly result: JsonObject;
	readonly path: Path;
	readonly step: JsonObject;
	readonly stepPath: Path;
	readonly index: number;
	readonly values: CallValues;
}

/** Harbor's converters keep the results as the programs had them in `extra`, of the result or of the step. */
function readResult({ result, path, step, stepPath, index, values }: Observed, draft: MessageDraft): void {
	const { calls } = draft;
	const own = idAt(result, "source_call_id");
	const callId =
		own ?? (listOf(objectOf(step.observation).results).length === calls.length ? calls[index] : calls[0])?.id;
	const { content } = result;
	const read =
		content === null || content === undefined
			? noContent
			: readToolContent(content, [...path, "content"], readInlineMedia);
	const search = { texts: read.texts, ofTheCall: values.get(callId ?? ""), places: [["extra"]] };
	const copies = outputCopies({ ...search, record: result, path });
	if (listOf(objectOf(step.observation).results).length === 1) {
		copies.push(...outputCopies({ ...search, record: step, path: stepPath, places: copyPlaces }));
	}
	const raw = objectOf(objectOf(objectOf(result.extra).tool_result_metadata).raw_tool_result);
	const isError = booleanAt(objectOf(result.extra), "is_error") ?? booleanAt(raw, "is_error");
	draft.addResult({ callId, ...read, copies, isError: isError || undefined });
}

const copyPlaces = [["extra", "tool_result_metadata"]];

function writeMessage({ role, text, instead }: WrittenMessage) {
	const source = role === "assistant" ? "agent" : role;
	return { step_id: 0, ...keptFields(instead, ["step_id", "timestamp"]), source, message: text };
}
