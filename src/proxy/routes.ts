import type { IncomingHttpHeaders } from "node:http";
import { PalimpsestError } from "../errors.ts";
import { type Api, apis } from "./billing/observed-caching.ts";

/** The APIs, and the clouds that serve Claude under paths of their own. */
export const upstreamNames = [...apis, "bedrock", "vertex"] as const;

export type UpstreamName = (typeof upstreamNames)[number];

/** Base URLs, fixed at the start. */
export type Upstreams = Readonly<Partial<Record<UpstreamName, string>>>;

/** The providers' own base URLs. */
export const defaultUpstreams: Upstreams = {
	anthropic: "https://api.anthropic.com",
	openai: "https://api.openai.com",
	gemini: "https://generativelanguage.googleapis.com",
};

export interface Route {
	readonly upstream: UpstreamName;
	/** The form of its requests and answers. */
	readonly api: Api;
	/**
	 * `edited`: its conversation may be edited. `counted`: it gets what is known of its conversation and decides nothing,
	 * since it only counts tokens or compacts. `batch`: the same for each conversation of a batch.
	 */
	readonly kind: "edited" | "counted" | "batch" | "passed";
	/** Gemini and the clouds name the model in the path alone. A passed request that names one is billed. */
	readonly model?: string | undefined;
	/** Whether it is `counted` and its answer, a compaction, is billed. */
	readonly isCompaction?: boolean;
	/** Whether a cloud is asked for a region or a group of regions, which may cost more than the global endpoint. */
	readonly isRegional?: boolean;
}

/** The part of a path that names an operation, after the base path of a client: some leave `/v1` out. */
const messages = /(?:^|\/)messages(?:\/(?<other>count_tokens|batches))?$/;
const openai = /(?:^|\/)(?:chat\/completions|responses(?:\/(?<other>compact|input_tokens))?)$/;
const gemini =
	/(?:^|\/)models\/(?<model>[^/:]+):(?:generateContent|streamGenerateContent|(?<other>countTokens|batchGenerateContent))$/;
/** The requests of a Google sign-in. The body names the model, and holds the request in `request`. */
const codeAssist = /(?:^|\/)v1internal:(?:generateContent|streamGenerateContent|(?<other>countTokens))$/;
/** "Use Claude models" (docs.cloud.google.com/vertex-ai). Colons may be encoded. */
const vertex = /(?:^|\/)publishers\/anthropic\/models\/(?<model>[^/:]+)(?::|%3A)(?:rawPredict|streamRawPredict)$/i;
/** "InvokeModel", "Converse", their streams and "CountTokens" (docs.aws.amazon.com/bedrock); the model may be an encoded ARN. */
const bedrock =
	/(?:^|\/)model\/(?<model>[^/]+)\/(?:invoke|invoke-with-response-stream|converse|converse-stream|(?<other>count-tokens))$/;
/** What Bedrock serves beside it. */
const besideBedrock = /(?:^|\/)(?:model\/[^/]+\/[\w-]+|inference-profiles(?:\/.*)?|foundation-models(?:\/.*)?)$/;

/** The route of a request among the upstreams; `undefined` if none of them can be meant. */
export function routeOf(
	request: { readonly method: string; readonly path: string; readonly headers: IncomingHttpHeaders },
	upstreams: Upstreams,
): Route | undefined {
	const route = recognised(request);
	if (upstreams[route.upstream] !== undefined) return route;
	if (route.kind !== "passed") return undefined;
	const named = upstreamNames.filter((name) => upstreams[name] !== undefined);
	const only = named.length === 1 ? named[0] : undefined;
	return only && { upstream: only, api: apiAt(only), kind: "passed" };
}

const apiAt = (upstream: UpstreamName): Api =>
	upstream === "bedrock" || upstream === "vertex" ? "anthropic" : upstream;

/** The route that a request means, by its path and then its headers, whether or not there is an upstream for it. */
export function recognised({ method, path, headers }: Parameters<typeof routeOf>[0]): Route {
	const [pathname = ""] = path.split("?", 1);
	if (method === "POST") {
		const ofMessages = messages.exec(pathname);
		if (ofMessages) return to("anthropic", kindOf(ofMessages));
		const ofOpenai = openai.exec(pathname);
		if (ofOpenai?.groups?.other === "compact") return { ...to("openai", "counted"), isCompaction: true };
		if (ofOpenai) return to("openai", kindOf(ofOpenai));
		const ofGemini = gemini.exec(pathname) ?? codeAssist.exec(pathname);
		if (ofGemini) return to("gemini", kindOf(ofGemini), ofGemini.groups?.model);
		const ofVertex = vertex.exec(pathname)?.groups?.model;
		// That one names the model in the body.
		if (ofVertex === "count-tokens") return to("vertex", "counted");
		const isRegional = !pathname.includes("/locations/global/");
		if (ofVertex !== undefined) return { ...to("vertex", "edited", decoded(ofVertex)), isRegional };
		const ofBedrock = bedrock.exec(pathname);
		if (ofBedrock) return toBedrock(kindOf(ofBedrock), decoded(ofBedrock.groups?.model ?? ""));
	}
	return besideBedrock.test(pathname) ? to("bedrock", "passed") : to(apiOf(pathname, headers), "passed");
}

/** The kind of a request whose path names no other operation than an answer, or one in its group `other`. */
function kindOf({ groups }: RegExpExecArray): Route["kind"] {
	const other = groups?.other;
	if (other === undefined) return "edited";
	return other.startsWith("batch") ? "batch" : "counted";
}

const to = (upstream: UpstreamName, kind: Route["kind"], model?: string): Route => ({
	upstream,
	api: apiAt(upstream),
	kind,
	...(model !== undefined && { model }),
});

/** A profile for all regions says so in its name ("Geographic and global inference profiles"). */
const toBedrock = (kind: Route["kind"], model: string): Route => ({
	...to("bedrock", kind, model),
	isRegional: !/(?:^|[/])global\./.test(model),
});

/** A part of a path, or the part itself if it is not well encoded. */
function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

/** Lists of models, files and the like: their paths are alike, so the headers of each API decide. */
function apiOf(pathname: string, headers: IncomingHttpHeaders): Api {
	if (headers["x-goog-api-key"] !== undefined || /\/v1(?:beta|internal)\w*(?:\/|:|$)/.test(pathname)) return "gemini";
	if (headers["anthropic-version"] !== undefined || headers["x-api-key"] !== undefined) return "anthropic";
	// Claude Code looks whether anybody is there.
	return pathname === "/" || /\/messages(?:\/|$)/.test(pathname) ? "anthropic" : "openai";
}

/** Checks base URLs. Throws PalimpsestError `invalid_argument`. */
export function checkUpstreams(upstreams: Upstreams): ReadonlyMap<UpstreamName, URL> {
	const checked = new Map<UpstreamName, URL>();
	for (const api of upstreamNames) {
		const given = upstreams[api];
		if (given === undefined) continue;
		const url = URL.canParse(given) ? new URL(given) : undefined;
		const isPlain = url && /^https?:$/.test(url.protocol);
		if (!isPlain || `${url.search}${url.hash}${url.username}${url.password}` !== "") {
			const form = "the base URL of an API, with https or http and without a query, a user or a password";
			throw new PalimpsestError("invalid_argument", `Expected the upstream of ${api} to be ${form}.`);
		}
		checked.set(api, url);
	}
	if (checked.size > 0) return checked;
	throw new PalimpsestError(
		"invalid_argument",
		`Expected an upstream for one of ${upstreamNames.join(", ")}; got none.`,
	);
}

/** The path at the upstream. A version that ends the base URL and begins the path is written once. */
export function upstreamPath({ pathname }: URL, path: string): string {
	const base = pathname.replace(/\/+$/, "");
	const version = /\/v1\w*$/.exec(base)?.[0];
	const isTwice = version !== undefined && (path === version || path.startsWith(`${version}/`));
	return isTwice ? base.slice(0, -version.length) + path : base + path;
}
