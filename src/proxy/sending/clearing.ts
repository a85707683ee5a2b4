import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { idAt, listOf, objectOf, objectsOf, stringAt } from "../../formats/json-text/value.ts";
import type { Remembered } from "./remembered.ts";
import type { ResultState } from "./states.ts";

/** The beta feature of Anthropic's API by which it clears tool results itself (platform.claude.com, "Context editing"). */
export const clearingBeta = "context-management-2025-06-27";

const clearToolUses = "clear_tool_uses_20250919";

/**
 * Whether the provider clears results: `off`, since nobody asked for that or the API cannot; `on`; `refused` where it is asked
 * for but the caller clears itself, or the provider has refused the field.
 */
export type Clearing = "off" | "on" | "refused";

/** A request of a host; whether beta features, such as clearing, may be asked for. */
interface AskedRequest {
	readonly body: unknown;
	readonly takesBetas?: boolean | undefined;
}

export function clearingFor(
	request: AskedRequest,
	policy: Policy,
	remembered: Pick<Remembered, "refusesClearing">,
): Clearing {
	if (policy.mask.by !== "provider" || !request.takesBetas) return "off";
	return mayClear(request, remembered) ? "on" : "refused";
}

/** Whether known states of cleared results count for a request. Of the caller's own edits only that of thinking goes with ours. */
export function mayClear(
	{ body, takesBetas }: AskedRequest,
	{ refusesClearing }: Pick<Remembered, "refusesClearing">,
): boolean {
	const edits = objectsOf(objectOf(objectOf(body).context_management).edits);
	if (takesBetas !== true || refusesClearing || asksForSummary(body)) return false;
	return edits.every(({ type }) => /^clear_thinking_/.test(String(type)));
}

/** Whether the host asks for a summary of its messages ("Compaction on demand"), which the API refuses beside its own edits. */
export function asksForSummary(body: unknown): boolean {
	return isJsonObject(objectOf(body).compaction);
}

/** Whether the provider may take results out of view that the request has: the host asks it to clear, compact or truncate. */
export function mayBeHidden({ body }: Pick<AskedRequest, "body">): boolean {
	const { context_management: managed, truncation } = objectOf(body);
	const edits = [...objectsOf(managed), ...objectsOf(objectOf(managed).edits)];
	return truncation === "auto" || edits.some(({ type }) => !/^clear_thinking_/.test(String(type)));
}

/** The state in which a cleared result is sent where the provider does not clear it: its bytes have never changed. */
export function uncleared(state: ResultState | undefined): ResultState | undefined {
	if (state?.kind !== "cleared") return state;
	return state.values.size === 0 ? undefined : { ...state, kind: state.sources ? "repeat" : "cut", changed: 0 };
}

/**
 * The places of results that the provider can clear, in the order of their tool uses: the oldest go first. A result whose
 * call is not in the request is left out, and so are an observation in a message of the user and each result of a tool that
 * loads others.
 */
export function clearablePlaces(body: unknown, paired: readonly PairedResult[]): number[] {
	const all = toolUses(body);
	const loading = toolsThatLoad(body, all);
	const clearable = all.flatMap(({ id, name }, index) => (loading.has(name) ? [] : [[id, index] as const]));
	const uses = new Map(clearable);
	const useOf = (place: number) => uses.get(paired[place]?.result.callId) ?? -1;
	return Array.from(paired.keys())
		.filter((place) => useOf(place) !== -1)
		.sort((a, b) => useOf(a) - useOf(b));
}

/**
 * The field `context_management` of a request whose results the provider clears. `keep` is the number of tool uses after the
 * last cleared one. It grows with each new tool use, so the cleared results stay the same. Tools of results that stay
 * before that one are excluded: those that load others even if one of their results was cleared. `undefined` if nothing is cleared.
 */
export function contextManagement(
	body: unknown,
	paired: readonly PairedResult[],
	stateOf: (place: number) => ResultState | undefined,
): JsonObject | undefined {
	if (!paired.some((_, place) => stateOf(place)?.kind === "cleared")) return undefined;
	const kinds = new Map(paired.map(({ result }, place) => [result.callId, stateOf(place)?.kind]));
	const uses = toolUses(body);
	const last = uses.findLastIndex(({ id }) => kinds.get(id) === "cleared");
	if (last === -1) return undefined;
	const before = uses.slice(0, last + 1);
	const namesOf = (isOne: (kind: ResultState["kind"] | undefined) => boolean) =>
		before.flatMap(({ id, name }) => (name !== undefined && kinds.has(id) && isOne(kinds.get(id)) ? [name] : []));
	const cleared = new Set(namesOf((kind) => kind === "cleared"));
	const staying = namesOf((kind) => kind !== "cleared" && kind !== "masked");
	const loading = toolsThatLoad(body, before);
	const excluded = [...new Set([...staying.filter((name) => !cleared.has(name)), ...loading])];
	const keep = uses.length - before.length;
	const edit = {
		type: clearToolUses,
		// More than this are always there. No trigger is below 1, so one use alone needs another unit.
		trigger: uses.length > 1 ? { type: "tool_uses", value: Math.max(1, keep) } : { type: "input_tokens", value: 1 },
		keep: { type: "tool_uses", value: keep },
		...(excluded.length > 0 ? { exclude_tools: excluded } : {}),
	};
	const own = objectOf(objectOf(body).context_management);
	return { ...own, edits: [...listOf(own.edits), edit] };
}

/**
 * The tools of results that load deferred tools, such as the search for tools: a tool is loaded only as long as a
 * `tool_reference` to it is in view (platform.claude.com, "Tool search tool").
 */
function toolsThatLoad(body: unknown, uses: ReturnType<typeof toolUses>): ReadonlySet<string | undefined> {
	const blocks = objectsOf(objectOf(body).messages).flatMap(({ content }) => objectsOf(content));
	const loads = blocks.filter(({ content }) => {
		const parts = [...objectsOf(content), ...objectsOf(objectOf(content).tool_references)];
		return parts.some(({ type }) => type === "tool_reference");
	});
	const ids = new Set(loads.map((block) => idAt(block, "tool_use_id")));
	return new Set(uses.flatMap(({ id, name }) => (name !== undefined && ids.has(id) ? [name] : [])));
}

/**
 * All tool uses of a request, also those of tools that the provider runs. It is not documented whether `keep` counts these, and
 * those of excluded tools: if it does not, less is cleared than was meant, never more.
 */
function toolUses(body: unknown) {
	return objectsOf(objectOf(body).messages)
		.flatMap(({ role, content }) => (role === "assistant" ? objectsOf(content) : []))
		.filter(({ type }) => type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use")
		.map((block) => ({ id: idAt(block, "id"), name: stringAt(block, "name") }));
}
