import type { JsonObject } from "../../engine/conversation/json.ts";
import type { KeptOriginals } from "./allowance.ts";
import type { Asked, RequestId } from "./messages.ts";

export interface OpenRequest {
	readonly id: RequestId;
	readonly asked: Asked;
	readonly startedAt: number;
	readonly bytes: number;
	readonly kept: KeptOriginals;
	hasFailed?: boolean;
	/** Of a request of the gateway: gets the result. */
	readonly onAnswer?: (result: JsonObject | undefined) => void;
}

/**
 * The requests that wait for an answer, by id. Ids are compared as hosts compare them: the SDKs take an answer with `"2"` for
 * that of request 2. An answer whose id is not open is for nobody.
 */
export function createOpenRequests() {
	const open = new Map<RequestId, OpenRequest>();
	const keyOf = (id: RequestId): RequestId => (open.has(id) ? id : otherSpelling(id));
	return {
		add: (id: RequestId, request: OpenRequest) => void open.set(id, request),
		has: (id: RequestId) => open.has(keyOf(id)),
		/** Ends the wait. `undefined` if there is no such request. */
		take(id: RequestId): OpenRequest | undefined {
			const key = keyOf(id);
			const request = open.get(key);
			open.delete(key);
			return request;
		},
		/** Ends every wait. */
		takeAll(): readonly OpenRequest[] {
			const all = [...open.values()];
			open.clear();
			return all;
		},
	};
}

function otherSpelling(id: RequestId): RequestId {
	if (typeof id === "number") return String(id);
	return String(Number(id)) === id ? Number(id) : id;
}
