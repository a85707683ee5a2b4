import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, stringAt } from "../../formats/json-text/value.ts";

/** What an answer says of its price. Absent: nothing, and so the standard. Names are untrusted. */
export interface Served {
	/** The model that answered, which may be another than the one that was asked. */
	readonly model?: string;
	/** As the provider names it, such as `flex`, `priority`, `batch` or `fast`. */
	readonly tier?: string;
	/** Where Anthropic ran the model: `us`, or `global`. */
	readonly geo?: string;
}

/** Of Gemini's API and of Bedrock. */
export function servedByHeaders(headers: IncomingHttpHeaders): Served {
	const tier = headers["x-gemini-service-tier"] ?? headers["x-amzn-bedrock-service-tier"];
	return typeof tier === "string" ? { tier: tier.toLowerCase() } : {};
}

/** In an answer or an event with a usage. A speed is a tier of its own: no answer has another beside it that costs more. */
export function servedIn(value: unknown, usage: JsonObject): Served {
	const last = objectOf(Array.isArray(value) ? value.at(-1) : value);
	const holders = [last, objectOf(last.response), objectOf(last.message)];
	const first = (...keys: readonly string[]) =>
		holders.flatMap((one) => keys.flatMap((key) => stringAt(one, key) ?? [])).at(0);
	const model = first("model", "modelVersion");
	const speed = stringAt(usage, "speed");
	const named =
		stringAt(usage, "service_tier") ?? first("service_tier") ?? stringAt(objectOf(last.serviceTier), "type");
	const traffic = stringAt(usage, "trafficType")?.replace(/^ON_DEMAND_?/, "");
	const tier = speed !== undefined && speed !== "standard" ? speed : (named ?? traffic);
	const geo = stringAt(usage, "inference_geo");
	return {
		...(model !== undefined && { model }),
		...(tier !== undefined && { tier: tier.toLowerCase() }),
		...(geo !== undefined && { geo: geo.toLowerCase() }),
	};
}
