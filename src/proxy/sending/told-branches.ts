import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { listOf, objectOf, objectsOf, stringAt } from "../../formats/json-text/value.ts";
import type { Branch, Mark } from "./branch.ts";
import type { Decision, Plan } from "./plan.ts";
import { decodeValues, encodeValues } from "./states.ts";

/** Of the text of a branch. One of another version is left alone: its process goes on with it. */
const version = 1;

/**
 * A branch for other processes: the mark of its last request, and the plans on it, so that the next request is decided on wherever
 * it comes. Decisions that hold text that may not be stored are left out.
 */
export function writeBranch(
	{ plan, asked, wasRefused, tokensPerChar }: Branch,
	mark: Mark,
	what: { readonly paired: readonly PairedResult[]; readonly isStorable: (text: string) => boolean },
): string {
	const { hash, messages, results } = mark;
	const encoded = (decisions: readonly Decision[]): JsonObject[] =>
		decisions.flatMap(({ values, ...one }) => {
			const { result } = what.paired[one.place] as PairedResult;
			const written = { ...one, values: encodeValues(values, result) };
			return what.isStorable(JSON.stringify(written)) ? [written] : [];
		});
	const placesIn = (decisions: readonly Decision[]) => decisions.map(({ place }) => place);
	const all = plan && new Map([plan.warm, plan.cold, plan.over, plan.asked].flat().map((one) => [one.place, one]));
	return JSON.stringify({
		version,
		hash,
		messages,
		results,
		tokens_per_char: tokensPerChar,
		refused: wasRefused || undefined,
		asked: asked && encoded(asked),
		plan: plan && {
			maskings: plan.maskings,
			limits: plan.limits,
			decisions: encoded([...(all as ReadonlyMap<number, Decision>).values()]),
			...{ warm: placesIn(plan.warm), cold: placesIn(plan.cold) },
			...{ over: placesIn(plan.over), asked: placesIn(plan.asked) },
		},
	});
}

/** `undefined` for text of another version, or that is none of ours. */
export function readBranch(id: string, text: string): Branch | undefined {
	const read = jsonObjectIn(text);
	const hash = read && stringAt(read, "hash");
	if (read?.version !== version || hash === undefined) return undefined;
	const [messages, results, tokensPerChar] = [read.messages, read.results, read.tokens_per_char].map(numberOf);
	if (messages === undefined || results === undefined) return undefined;
	return {
		id,
		last: { kind: "mark", hash, messages, results },
		...(isJsonObject(read.plan) ? { plan: planIn(read.plan) } : {}),
		...(Array.isArray(read.asked) ? { asked: decisionsIn(read.asked) } : {}),
		...(tokensPerChar === undefined ? {} : { tokensPerChar }),
		wasRefused: read.refused === true,
	};
}

function planIn({ maskings, limits, decisions, warm, cold, over, asked }: JsonObject): Plan {
	const known = new Map(decisionsIn(decisions).map((one) => [one.place, one]));
	const decided = (places: unknown) => listOf(places).flatMap((place) => known.get(numberOf(place) ?? -1) ?? []);
	return {
		maskings: numberOf(maskings) ?? -1,
		limits: listOf(limits).flatMap((limit) => numberOf(limit) ?? []),
		...{ warm: decided(warm), cold: decided(cold), over: decided(over), asked: decided(asked) },
	};
}

function decisionsIn(value: unknown): Decision[] {
	return objectsOf(value).flatMap((one): Decision[] => {
		const kind = one.kind === "masked" || one.kind === "cleared" ? one.kind : undefined;
		const [place, savedChars, savedTokens] = [one.place, one.savedChars, one.savedTokens].map(numberOf);
		const key = stringAt(one, "key");
		if (kind === undefined || place === undefined || key === undefined) return [];
		const values = decodeValues(objectOf(one.values));
		const saved = { savedChars: savedChars ?? 0, savedTokens: savedTokens ?? 0 };
		return [{ kind, place, key, values, ref: stringAt(one, "ref"), ...saved }];
	});
}

function jsonObjectIn(text: string): JsonObject | undefined {
	try {
		const read: unknown = JSON.parse(text);
		return isJsonObject(read) ? read : undefined;
	} catch {
		return undefined;
	}
}

function numberOf(value: unknown): number | undefined {
	return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
