import http, { type AgentOptions, type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import type { SecureContext } from "node:tls";
import type { HttpsProxyAgent } from "https-proxy-agent";
import { isLoopback } from "./address.ts";
import { type Environment, type NetworkProxy, networkProxyOf } from "./network-proxy.ts";
import { trustFile, trustSystem } from "./trust.ts";

interface Outgoing {
	readonly method: string;
	/** With its query. */
	readonly path: string;
	/** Names and values in turn, as they are sent; they need `Host`. */
	readonly headers: readonly string[];
	/** Ends the request, also while its answer arrives. */
	readonly signal: AbortSignal;
	/** Writes the body, and ends the request. */
	readonly send: (request: ClientRequest) => void;
	/** Whether `send` may be called once more. */
	readonly canSendAgain: boolean;
}

/** With what the error of a request that got no answer tells more. */
export type OutgoingError = NodeJS.ErrnoException & {
	/** It was sent on a connection that had carried another one. */
	readonly wasReused?: boolean;
	/** Bytes of its answer had arrived. */
	readonly hasBegun?: boolean;
	/** Whether it stays until people change something; absent: its code tells. */
	readonly isLasting?: boolean;
	/** Sentences for people, if the proxy of the network failed or a certificate is not trusted. They hold no credential. */
	readonly advice?: string;
};

/** A way that requests take to their host. */
interface Way {
	readonly opened: () => Promise<(asked: Outgoing) => ClientRequest>;
	readonly close: () => void;
}

export type Connection = ReturnType<typeof openConnection>;

/**
 * Connections to one host, directly or through the proxy of the network (`networkProxyOf`). They rest between requests, at most
 * `restMs`, and have no time-out: a model may think for long. `network` has variables that win over those of this process, with
 * `NODE_EXTRA_CA_CERTS`, which Node itself reads as it starts. Throws as `networkProxyOf` does.
 */
export function openConnection(
	target: URL,
	{ restMs, network = {} }: { readonly restMs?: number; readonly network?: Environment | undefined } = {},
) {
	const proxy = networkProxyOf(target, { ...process.env, ...network });
	const wayWith = (secureContext: SecureContext | undefined): Way => {
		const timeout = restMs === undefined ? {} : { timeout: restMs };
		return wayTo(target, proxy, { keepAlive: true, ...timeout, ...(secureContext ? { secureContext } : {}) });
	};
	const ways = [wayWith(trustFile(network.NODE_EXTRA_CA_CERTS))];
	let trustsSystem = false;

	/** Whether a way that trusts more is left. Node has its own authorities alone, and loading the system's takes time. */
	const hasOther = (used: Way | undefined): boolean => {
		if (used === ways.at(-1) && !trustsSystem) {
			trustsSystem = true;
			const secureContext = trustSystem(network.NODE_EXTRA_CA_CERTS);
			if (secureContext) ways.push(wayWith(secureContext));
		}
		return used !== ways.at(-1);
	};

	const askBy = async (way: Way, asked: Outgoing): Promise<IncomingMessage> => {
		const request = await way.opened();
		return new Promise((resolve, reject) => {
			const sent = request(asked);
			let connected: number | undefined;
			let hasBegun = false;
			sent.on("socket", (socket) => {
				const begin = () => {
					hasBegun = true;
				};
				socket.once("data", begin);
				sent.once("close", () => socket.off("data", begin));
			});
			sent.on("proxyConnect", ({ statusCode, headers }) => {
				connected = statusCode;
				if (proxy && statusCode !== 200)
					sent.destroy(refusal(target, proxy, statusCode, headers["proxy-authenticate"]));
			});
			sent.on("response", (answer) => {
				const { statusCode = 0, headers } = answer;
				// In plain HTTP the proxy answers in place of the host.
				if (proxy && connected === undefined && target.protocol === "http:" && statusCode === 407)
					sent.destroy(refusal(target, proxy, statusCode, headers["proxy-authenticate"]));
				else if (statusCode >= 100) resolve(answer);
				// Node reads such a status, but does not write it.
				else sent.destroy(Object.assign(new Error("Expected a status from 100."), { code: "HPE_INVALID_STATUS" }));
			});
			sent.on("error", (error: OutgoingError) => {
				const isOfProxy = proxy && connected === undefined && !sent.reusedSocket;
				const advice = error.advice ?? adviceFor(error, { target, proxy: isOfProxy ? proxy : undefined });
				reject(Object.assign(error, { wasReused: sent.reusedSocket, hasBegun, advice }));
			});
			asked.send(sent);
		});
	};

	return {
		/** Resolves with the head of the answer. Redirects are not followed. Rejects with an OutgoingError. */
		async ask(asked: Outgoing): Promise<IncomingMessage> {
			const used = ways.at(-1) as Way;
			try {
				return await askBy(used, asked);
			} catch (error) {
				// Nothing was sent on such a connection.
				const isUntrusted = untrusted.has((error as OutgoingError).code ?? "") && hasOther(used);
				if (!isUntrusted || !asked.canSendAgain || asked.signal.aborted) throw error;
				return askBy(ways.at(-1) as Way, asked);
			}
		},
		close(): void {
			for (const way of ways) way.close();
		},
	};
}

type Rest = AgentOptions & { readonly secureContext?: SecureContext };

function wayTo(target: URL, proxy: NetworkProxy | undefined, rest: Rest): Way {
	if (!proxy) return directWay(target, rest);
	return target.protocol === "https:" ? tunnel(target, proxy, rest) : relay(target, proxy, rest);
}

function directWay(target: URL, rest: Rest): Way {
	const { Agent, request } = target.protocol === "https:" ? https : http;
	const agent = new Agent(rest);
	return {
		opened: async () => (asked) => request(target, { agent, ...optionsOf(asked) }),
		close: () => agent.destroy(),
	};
}

function optionsOf({ method, path, headers, signal }: Outgoing) {
	return { method, path, headers, signal };
}

/** Plain HTTP: the proxy gets the whole address (RFC 9112, section 3.2.2). */
function relay(target: URL, { url, authorization }: NetworkProxy, rest: Rest): Way {
	const { Agent, request } = url.protocol === "https:" ? https : http;
	const agent = new Agent(rest);
	return {
		opened: async () => (asked) => {
			const own = authorization === undefined ? [] : ["Proxy-Authorization", authorization];
			const [path, headers] = [target.origin + asked.path, [...asked.headers, ...own]];
			return request(url, { agent, ...optionsOf(asked), path, headers });
		},
		close: () => agent.destroy(),
	};
}

/** TLS: the proxy opens a tunnel to the host (CONNECT; RFC 9110, section 9.3.6). */
function tunnel(target: URL, proxy: NetworkProxy, rest: Rest): Way {
	const openings = new Set<AbortController>();
	let made: Promise<HttpsProxyAgent<string>> | undefined;
	const close = (): void => {
		for (const opening of openings) opening.abort();
		void made?.then((agent) => agent.destroy());
	};
	return {
		async opened() {
			made ??= tunnelAgent(proxy, rest, openings);
			const agent = await made;
			return (asked) => {
				const { secureContext } = rest;
				const secured = secureContext ? { secureContext } : {};
				const options: https.RequestOptions & Opening = {
					agent,
					...optionsOf(asked),
					...secured,
					opening: asked.signal,
				};
				return https.request(target, options);
			};
		},
		close,
	};
}

/** Ends the opening of a tunnel: Node tells an agent only of requests that have a connection. */
interface Opening {
	readonly opening: AbortSignal;
}

async function tunnelAgent({ url, authorization }: NetworkProxy, rest: Rest, openings: Set<AbortController>) {
	const { HttpsProxyAgent } = await import("https-proxy-agent");
	// It prints its URL where the user asks for its notes (DEBUG), and so gets one without a password.
	const headers = authorization === undefined ? {} : { "Proxy-Authorization": authorization };
	const agent = new HttpsProxyAgent(url, { ...rest, noDelay: true, headers });
	const { connectOpts } = agent;
	const connect = agent.connect.bind(agent);
	agent.connect = async (request, options) => {
		const opening = new AbortController();
		const stop = () => opening.abort();
		const { opening: left } = options as unknown as Opening;
		openings.add(opening);
		left.addEventListener("abort", stop);
		// It reads them before it waits.
		agent.connectOpts = { ...connectOpts, signal: opening.signal };
		try {
			return await connect(request, options);
		} finally {
			openings.delete(opening);
			left.removeEventListener("abort", stop);
		}
	};
	return agent;
}

/** The `code` of the error where the proxy answers in place of the host. */
export const proxyRefused = "PROXY_REFUSED";

function refusal(target: URL, proxy: NetworkProxy, status: number, schemes: string | readonly string[] = []): Error {
	const named = [schemes].flat().map((scheme) => /^\w{1,20}/.exec(scheme)?.[0] ?? "?");
	const [what, remedy] = whyRefused(target, proxy, { status, schemes: named });
	const advice = `${nameOf(proxy)} ${what} (${Number.isNaN(status) ? "no HTTP" : status}). ${remedy}.`;
	return Object.assign(new Error(advice), { code: proxyRefused, advice, isLasting: status < 500 });
}

function whyRefused(
	target: URL,
	{ variable, authorization }: NetworkProxy,
	{ status, schemes }: { readonly status: number; readonly schemes: readonly string[] },
): readonly [what: string, remedy: string] {
	const host = hostAndPort(target);
	const escaped = "with other characters than letters and digits as %XX";
	const isBasic = schemes.length === 0 || schemes.some((scheme) => /^basic$/i.test(scheme));
	if (status === 407 && !isBasic) {
		const remedy = `Run a proxy of your own that signs in there, such as cntlm, and name it in ${variable}`;
		return [`takes no user and password, only ${schemes.join(", ")}`, remedy];
	}
	if (status === 407 && authorization === undefined) {
		const remedy = `Write them as USER:PASSWORD@ before the host in ${variable}, ${escaped}`;
		return ["demands a user and a password", remedy];
	}
	if (status === 407)
		return ["refuses the user or the password", `Check them in ${variable}, where they are written ${escaped}`];
	const direct = "or name the host in NO_PROXY if it is reached directly";
	if (status >= 500) return [`cannot reach ${host}`, `Try again later, ${direct}`];
	return [`refuses a connection to ${host}`, `Have the host allowed there, ${direct}`];
}

/** Node's codes: https://nodejs.org/docs/latest-v20.x/api/tls.html#x509-certificate-error-codes. */
const untrusted = new Set([
	...["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT"],
	...["UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_UNTRUSTED"],
]);

/** Certificates and TLS (Node's codes of both), a name that no DNS server knows: these stay until people change something. */
const lasting =
	/(?:^|_)(?:CERT|CRL|CA|SIGNATURE|ISSUER)(?:_|$)|^(?:ERR_(?:SSL|TLS)_\w+|PATH_LENGTH_EXCEEDED|INVALID_PURPOSE|HOSTNAME_MISMATCH|EPROTO|ENOTFOUND)$/;

/** Whether the same request may get an answer a little later, as after a refused or reset connection. */
export function mayComeBack({ code = "", isLasting = lasting.test(code) }: OutgoingError): boolean {
	return !isLasting;
}

const unreachable = new Set(["ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH"]);

/** `proxy`: the connection to it failed. */
function adviceFor(
	{ code, message }: NodeJS.ErrnoException,
	{ target, proxy }: { readonly target: URL; readonly proxy: NetworkProxy | undefined },
): string | undefined {
	if (code !== undefined && untrusted.has(code)) {
		const host = hostAndPort(proxy?.url ?? target);
		return `The certificate of ${host} is not trusted (${code}). If this network has a certificate authority of its own, name its file in NODE_EXTRA_CA_CERTS and start again.`;
	}
	if (!proxy && code !== undefined && unreachable.has(code) && !isLoopback(target.hostname))
		return `If this network has a proxy, name it in HTTPS_PROXY and start again.`;
	if (!proxy) return undefined;
	const hasAnswered = code === "ECONNRESET" || code === "EPIPE" || /^Proxy connection ended/.test(message);
	const how = hasAnswered ? "closed the connection without an answer" : "cannot be reached";
	const shown = code !== undefined && /^\w{1,40}$/.test(code) ? ` (${code})` : "";
	return `${nameOf(proxy)} ${how}${shown}. Check ${proxy.variable}, or name ${target.hostname} in NO_PROXY if it is reached directly.`;
}

function nameOf({ url, variable }: NetworkProxy): string {
	return `The proxy of this network, ${hostAndPort(url)} (${variable}),`;
}

function hostAndPort({ hostname, port, protocol }: URL): string {
	return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}
