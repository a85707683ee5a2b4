import { secret } from "./agent-conversation.ts";
import { outputOf } from "./sample-text.ts";

/** A session as Claude Code records it: a question, then so many calls of `Read` with their results. */
export function claudeCodeSession(turns: number): string {
	const common = { isSidechain: false, sessionId: "s1", version: "2.1.0", timestamp: "2026-01-01T00:00:00.000Z" };
	const records: unknown[] = [
		{ ...common, parentUuid: null, uuid: "u", type: "user", message: { role: "user", content: "Read them all." } },
	];
	let parentUuid = "u";
	const add = (uuid: string, type: string, message: unknown) => {
		records.push({ ...common, parentUuid, uuid, type, message });
		parentUuid = uuid;
	};
	for (let turn = 0; turn < turns; turn += 1) {
		const id = `toolu_${turn}`;
		const input = { file_path: `/home/me/project/src/part-${turn}.ts` };
		const content = [{ type: "tool_use", id, name: "Read", input }];
		const model = "claude-opus-4-5-20251101";
		add(`a${turn}`, "assistant", { id: `msg_${turn}`, role: "assistant", model, content });
		const result = { type: "tool_result", tool_use_id: id, content: outputOf(`${secret} part ${turn}`) };
		add(`r${turn}`, "user", { role: "user", content: [result] });
	}
	return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}
