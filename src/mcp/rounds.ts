import { createHash } from "node:crypto";
import { compactJson, isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { SamplingRequest } from "../summariser/sampling.ts";
import type { Summariser } from "../summariser/summariser.ts";
import { rootFolders } from "./client.ts";

/** A question to a client. Its answer comes back under the name of the question. */
export type Asked = { method: "sampling/createMessage"; params: SamplingRequest } | { method: "roots/list" };

/** Travels through the client, which may read it: its own answers so far, and the names of what it is asked now. */
export type RoundState = { readonly answers: JsonObject; readonly asked: readonly string[] };

interface Rounds {
	/** Aborted when the client has to be asked: the rest of the work would be in vain. */
	readonly signal: AbortSignal;
	readonly clientModel: (() => Promise<Summariser>) | undefined;
	/** The folders that the client offers. */
	readonly roots: () => Promise<readonly string[]>;
	/** `undefined` if the call is done. */
	questions(): { readonly requests: Record<string, Asked>; readonly state: RoundState } | undefined;
}

/**
 * Questions to a client that is not waiting for any: since revision 2026-07-28 a server ends the call with its questions,
 * and the client calls again with the answers. The work is done again from the start. It comes to the same questions, since
 * it depends only on the arguments and the answers.
 */
export function createRounds(call: {
	readonly capabilities: unknown;
	readonly state: RoundState | undefined;
	readonly responses: unknown;
}): Rounds {
	const { state, responses } = call;
	const capabilities = isJsonObject(call.capabilities) ? call.capabilities : {};
	const given = isJsonObject(responses) ? responses : {};
	const isNew = (name: string) => given[name] !== undefined;
	const news = (state?.asked ?? []).filter(isNew).map((name) => [name, given[name]] as const);
	const answers: JsonObject = { ...state?.answers, ...Object.fromEntries(news) };
	const controller = new AbortController();
	const open = new Map<string, Asked>();

	const ask = async (asked: Asked): Promise<unknown> => {
		const name = createHash("sha256").update(compactJson(asked)).digest("base64url").slice(0, 22);
		if (Object.hasOwn(answers, name)) return answers[name];
		open.set(name, asked);
		controller.abort(new Error("The client has to be asked first."));
		throw controller.signal.reason;
	};
	const model = async (): Promise<Summariser> => {
		const { createSamplingSummariser } = await import("../summariser/sampling.ts");
		return createSamplingSummariser({ createMessage: (params) => ask({ method: "sampling/createMessage", params }) });
	};
	return {
		signal: controller.signal,
		clientModel: isJsonObject(capabilities.sampling) ? model : undefined,
		roots: async () => (isJsonObject(capabilities.roots) ? rootFolders(await ask({ method: "roots/list" })) : []),
		questions() {
			if (open.size === 0) return undefined;
			return { requests: Object.fromEntries(open), state: { answers, asked: [...open.keys()] } };
		},
	};
}
