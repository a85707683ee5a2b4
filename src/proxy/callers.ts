import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { findToken, principalOfToken, type TokenList } from "../operations/http/auth-tokens.ts";

/** Who sends a request. Originals, states and figures belong to a principal. */
export interface Caller {
	/** Named as `serve` names it, so that both have the same originals for it. */
	readonly principal: string;
	/** For the figures. */
	readonly person: string;
	/** Whether it is known to be one: only the provider can say that of its key. */
	readonly isProved: boolean;
}

/** A request without what is meant for this proxy alone: nothing of it goes upstream. */
export interface CallersRequest {
	readonly path: string;
	readonly headers: IncomingHttpHeaders;
	/** Names and values in turn. */
	readonly rawHeaders: readonly string[];
	/** By the header `X-Palimpsest-Token`, else by the path: some programs can set a base URL and no header. */
	readonly token: string | undefined;
	/** By the header `X-Palimpsest-Project`. */
	readonly project: string | undefined;
}

const ownHeader = /^x-palimpsest-/i;
const tokenInPath = /^\/token\/(?<token>[^/?#]+)(?<rest>[/?].*)?$/s;

/** `isOfMany`: whether the proxy has several callers, so that a path may name one. */
export function readCallersRequest(
	request: Pick<IncomingMessage, "url" | "headers" | "rawHeaders">,
	{ isOfMany }: { readonly isOfMany: boolean },
): CallersRequest {
	const { url: path = "/", headers, rawHeaders } = request;
	const { token, rest = "" } = (isOfMany ? tokenInPath.exec(path)?.groups : undefined) ?? {};
	const { "x-palimpsest-token": inHeader, "x-palimpsest-project": project } = headers;
	return {
		path: token === undefined ? path : rest.startsWith("/") ? rest : `/${rest}`,
		headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeader.test(name))),
		rawHeaders: rawHeaders.filter((_, at) => !ownHeader.test(rawHeaders[at - (at % 2)] as string)),
		token: typeof inHeader === "string" ? inHeader : token,
		project: typeof project === "string" ? project : undefined,
	};
}

export type CallerCheck = ReturnType<typeof createCallerCheck>;

/**
 * Tells who sends a request: by a token of the operator's list, else, with `serverKey`, by the provider's own key. Of that only a
 * hash under the server's key is used: it is neither stored nor logged, and whether it is valid is the provider's to say.
 */
export function createCallerCheck(by: {
	readonly tokens: TokenList | undefined;
	readonly serverKey: string | undefined;
}) {
	const { tokens, serverKey } = by;
	const ofToken = (token: string | undefined): Caller | undefined => {
		const found = token === undefined ? undefined : tokens && findToken(tokens.current(), token);
		return found && { principal: principalOfToken(found), person: found.name, isProved: true };
	};
	const ofKey = (key: string, ownKey: string): Caller => {
		const hash = createHmac("sha256", ownKey).update(key).digest("hex").slice(0, 32);
		return { principal: `key ${hash}`, person: `key ${hash.slice(0, 8)}`, isProved: false };
	};
	return {
		ofToken,
		/** The caller, or what was expected of the request. */
		callerOf({ token, path, headers }: CallersRequest): Caller | { readonly expected: string } {
			const known = ofToken(token);
			if (known) return known;
			if (token !== undefined || serverKey === undefined) return { expected: tokenExpected };
			const key = providerKey(headers, path);
			return typeof key === "string" ? ofKey(key, serverKey) : key;
		},
	};
}

const tokenExpected =
	"Expected a token of this proxy, in the header X-Palimpsest-Token, or in a base URL that ends in /token/TOKEN. Ask its operator for one.";

/** Shorter ones are words that servers without keys take from everybody, such as `ollama`. */
const leastKeyLength = 20;

/**
 * Sign-ins: tokens of Claude's and Google's accounts, and JSON Web Tokens. They are new every hour, and what is archived and decided
 * for one would be lost with the next.
 */
const passing = /^(?:sk-ant-oat|ya29\.|eyJ[\w-]+\.[\w-]+\.)/;

function providerKey(headers: IncomingHttpHeaders, path: string): string | { readonly expected: string } {
	const { authorization = "" } = headers;
	const bearer = /^bearer +(\S+)$/i.exec(authorization)?.[1];
	const inQuery = new URLSearchParams(path.split("?", 2)[1] ?? "").get("key") ?? undefined;
	const given = [headers["x-api-key"], headers["api-key"], headers["x-goog-api-key"], bearer, inQuery];
	const key = given.find((one) => one !== undefined && one !== "");
	if (typeof key !== "string" || key.length < leastKeyLength)
		return { expected: `Expected an API key of the provider, of ${leastKeyLength} characters or more.` };
	if (!passing.test(key)) return key;
	return {
		expected: "Expected an API key of the provider: a sign-in gets another token every hour, which names nobody.",
	};
}
