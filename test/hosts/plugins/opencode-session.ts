import type { turnsOf } from "../../proxy/sessions.ts";

type Turns = ReturnType<typeof turnsOf>;

export interface StoredMessage {
	readonly info: Record<string, unknown>;
	readonly parts: readonly Record<string, unknown>[];
}

/** A session after some turns, as opencode 1.18 hands it to `experimental.chat.messages.transform`. */
export function storedSession(turns: Turns, task = "Find out where each value is read."): StoredMessage[] {
	const sessionID = "ses_4f2a";
	const model = { providerID: "anthropic", modelID: "claude-sonnet-4-5" };
	const user = { id: "msg_0000", sessionID, role: "user", time: { created: 1 }, agent: "build", model };
	return [
		{ info: user, parts: [{ id: "prt_0", type: "text", text: task }] },
		...turns.map(({ id, command, output, call }, turn) => ({
			info: { id: `msg_${String(turn + 1).padStart(4, "0")}`, sessionID, role: "assistant", parentID: "msg_0000" },
			parts: [
				{ type: "step-start" },
				{
					type: "tool",
					callID: id,
					tool: call?.name ?? "bash",
					state: {
						status: "completed",
						input: call?.input ?? { command, description: "Searches" },
						output,
						title: "Searches",
						metadata: { output, exit: 0 },
						time: { start: 1, end: 2 },
					},
				},
				{ type: "step-finish", reason: "tool-calls" },
			],
		})),
	];
}

/** The same as opencode 2.0 hands it to `ctx.session.hook("context")`: messages of a class, with calls and results. */
export function modelMessages(turns: Turns, task = "Find out where each value is read."): LanguageMessage[] {
	return [
		new LanguageMessage("user", [{ type: "text", text: task }]),
		...turns.flatMap(({ id, command, output, call }, turn) => [
			new LanguageMessage("assistant", [
				{ type: "reasoning", text: "The next value.", providerMetadata: { anthropic: { signature: `c2ln${turn}` } } },
				{ type: "tool-call", id, name: call?.name ?? "bash", input: call?.input ?? { command } },
			]),
			new LanguageMessage("tool", [
				{
					type: "tool-result",
					id,
					name: call?.name ?? "bash",
					result: { type: "text", value: output },
					metadata: { exit: 0 },
				},
			]),
		]),
	];
}

export class LanguageMessage {
	readonly role: string;
	readonly content: readonly Record<string, unknown>[];
	constructor(role: string, content: readonly Record<string, unknown>[]) {
		this.role = role;
		this.content = content;
	}
}

/** The texts of the results, in their order. */
export function outputsIn(messages: readonly StoredMessage[]): string[] {
	return messages.flatMap(({ parts }) =>
		parts.flatMap(({ state }) => (state === undefined ? [] : [String((state as { output: unknown }).output)])),
	);
}

export const isMasked = (text: string) => /^\[(?:Observation masked:|masked )/.test(text);
