import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { idAt, objectOf, stringAt } from "../../formats/json-text/value.ts";

const mostRunning = 1_000;
/** Hosts may ask for a result again. */
const mostEnded = 100;

/** The calls that run as tasks, by the id of the task. Of those that have ended, only the last are remembered. */
export function createTasks<Request>() {
	const running = new Map<string, Request>();
	const ended = new Map<string, Request>();
	const put = (tasks: Map<string, Request>, { id, request, most }: { id: string; request: Request; most: number }) => {
		tasks.set(id, request);
		const [oldest = ""] = tasks.keys();
		if (tasks.size > most) tasks.delete(oldest);
	};
	return {
		/** A call that runs as a task is answered by it: in `task` up to revision 2025-11-25. */
		begin(result: JsonObject, request: Request): void {
			const id = idAt(result.resultType === "task" ? result : objectOf(result.task), "taskId");
			if (id === undefined) return;
			ended.delete(id);
			put(running, { id, request, most: mostRunning });
		},
		requestOf: (id: string) => running.get(id) ?? ended.get(id),
		end(id: string): void {
			const request = running.get(id);
			if (request === undefined) return;
			running.delete(id);
			put(ended, { id, request, most: mostEnded });
		},
	};
}

/** Ended tasks stay as they are. A state without a status has only its result to say so. */
export function hasEnded(state: JsonObject): boolean {
	const status = stringAt(state, "status");
	return status === undefined ? isJsonObject(state.result) : ["completed", "failed", "cancelled"].includes(status);
}
