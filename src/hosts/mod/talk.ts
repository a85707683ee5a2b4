import { isJsonObject } from "../../engine/conversation/json.ts";
import type { AppendEvent } from "./engine.ts";

/** Calls that wait for their results, and conversations that are remembered: subagents end without a word. */
const [mostCalls, mostTalks] = [1_000, 200];

/** What is said in the conversations of a session, as far as a result's excerpt depends on it. */
export function startTalk() {
	const calls = new Map<string, { readonly toolName: string; readonly input: unknown }>();
	const said = new Map<string, { words?: string; task?: string }>();
	const saidBy = (agentId = "") => {
		const known = said.get(agentId) ?? {};
		remember(said, agentId, known, mostTalks);
		return known;
	};
	return {
		heard({ door, agentId, message }: AppendEvent): void {
			const texts = message.content.flatMap(({ type, text }) =>
				type === "text" && typeof text === "string" ? [text] : [],
			);
			if (door === "prompt" && message.isMeta !== true && texts.length > 0) saidBy(agentId).task = texts.join("\n");
			if (door !== "response") return;
			if (texts.length > 0) saidBy(agentId).words = texts.join("\n");
			for (const { type, id, name, input } of message.content.filter(isJsonObject)) {
				if (type === "tool_use" && typeof id === "string" && typeof name === "string")
					remember(calls, id, { toolName: name, input }, mostCalls);
			}
		},
		/** The call that a result answers, once. A session that goes on from an earlier process does not know all of them. */
		callOf(id: string, { agentId, origin }: AppendEvent) {
			const call = calls.get(id) ?? { toolName: origin?.tool ?? "", input: undefined };
			calls.delete(id);
			return { ...call, ...saidBy(agentId) };
		},
	};
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
	map.delete(key);
	map.set(key, value);
	for (const oldest of map.keys()) {
		if (map.size <= most) return;
		map.delete(oldest);
	}
}
