import { BlockList, isIP, isIPv6 } from "node:net";
import { PalimpsestError } from "../../errors.ts";
import { isLoopback } from "./address.ts";

/** A proxy that leads out of a network, as `HTTPS_PROXY` names it. */
export interface NetworkProxy {
	/** Without user and password. */
	readonly url: URL;
	/** The variable that names it. */
	readonly variable: string;
	/** The value of `Proxy-Authorization`, by RFC 7617; `undefined` without a user. It is for requests alone. */
	readonly authorization: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that leads to an address; `undefined` if it is reached directly, as loopback always is. An address with TLS takes
 * the one of `HTTP_PROXY` where no `HTTPS_PROXY` is set, as Claude Code, Gemini CLI and undici do. Throws PalimpsestError
 * `invalid_argument`, which does not quote the variable.
 */
export function networkProxyOf(target: URL, environment: Environment = process.env): NetworkProxy | undefined {
	if (isLoopback(target.hostname)) return undefined;
	const variable = variablesFor(target.protocol).find((name) => environment[name]);
	if (variable === undefined || isExcepted(target, environment.no_proxy || environment.NO_PROXY || ""))
		return undefined;
	return { variable, ...proxyAt(environment[variable] ?? "", variable) };
}

/** As curl has it, names in small letters come first. */
function variablesFor(protocol: string): readonly string[] {
	const plain = ["http_proxy", "HTTP_PROXY"];
	return protocol === "https:" ? ["https_proxy", "HTTPS_PROXY", ...plain] : plain;
}

function proxyAt(value: string, variable: string): Pick<NetworkProxy, "url" | "authorization"> {
	const text = value.includes("://") ? value : `http://${value}`;
	const url = URL.canParse(text) ? new URL(text) : undefined;
	// What follows the host belongs to a password that is not escaped, so that its start was taken for the host.
	const isWhole = url && /^https?:$/.test(url.protocol) && `${url.pathname}${url.search}${url.hash}` === "/";
	if (!isWhole) {
		const form = "such as http://proxy.example:8080, with USER:PASSWORD@ before the host if it demands them";
		const message = `Expected ${variable} to be the address of a proxy over http or https, ${form}. Write all characters in them but letters and digits as %XX. NO_PROXY names the hosts that need no proxy.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const { username, password } = url;
	const credentials = `${decoded(username)}:${decoded(password)}`;
	const authorization = credentials === ":" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;
	url.username = "";
	url.password = "";
	return { url, authorization };
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

/**
 * Whether an address is on the list of `NO_PROXY`: names with all names below them, `.name` and `*.name`, IP addresses, ranges
 * such as 10.0.0.0/8, each with a port or without, and `*`. Source: https://curl.se/docs/manpage.html#--noproxy.
 */
function isExcepted(target: URL, list: string): boolean {
	const host = withoutBrackets(target.hostname).replace(/\.$/, "");
	const port = target.port || (target.protocol === "https:" ? "443" : "80");
	return list
		.toLowerCase()
		.split(/[\s,]+/)
		.some((entry) => {
			if (entry === "") return false;
			if (entry === "*") return true;
			const parts = isIPv6(entry) ? null : /^(.+):(\d+)$/.exec(entry);
			if (parts && parts[2] !== port) return false;
			const name = withoutBrackets(parts?.[1] ?? entry);
			return isIP(host) === 0 ? isNameIn(host, name) : isAddressIn(host, name);
		});
}

function isNameIn(host: string, entry: string): boolean {
	const name = entry.replace(/^\*?\.?/, "").replace(/\.$/, "");
	return host === name || (name !== "" && host.endsWith(`.${name}`));
}

function isAddressIn(host: string, entry: string): boolean {
	const [network = "", digits] = entry.split("/");
	const version = isIP(network);
	if (version === 0) return false;
	const bits = version === 6 ? 128 : 32;
	const prefix = digits === undefined ? bits : Number(digits || Number.NaN);
	if (!(prefix >= 0 && prefix <= bits)) return false;
	const range = new BlockList();
	range.addSubnet(network, prefix, version === 6 ? "ipv6" : "ipv4");
	return range.check(host, isIPv6(host) ? "ipv6" : "ipv4");
}

function withoutBrackets(host: string): string {
	return host.replace(/^\[(.*)\]$/, "$1");
}

const variables = [
	...["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"],
	"NODE_EXTRA_CA_CERTS",
] as const;

/** The variables of the network among others. */
export function networkVariables(environment: Readonly<Record<string, unknown>>): Environment {
	const set = variables.filter((name) => typeof environment[name] === "string");
	return Object.fromEntries(set.map((name) => [name, environment[name] as string]));
}

const ownNames = ["127.0.0.1", "localhost", "::1"];

/**
 * `NO_PROXY` and `no_proxy` with this machine named in both, for a program that reaches us there. What the user has named in
 * either stays; where one is absent, it has the names of the other.
 */
export function exceptingLoopback(environment: Environment): { readonly NO_PROXY: string; readonly no_proxy: string } {
	const withOwn = (list: string): string => {
		const names = list.split(/[\s,]+/).filter((name) => name !== "");
		// Some programs know it without blanks alone.
		if (names.includes("*")) return names.length === 1 ? "*" : list;
		const missing = ownNames.filter((name) => !names.includes(name));
		return [...(names.length > 0 ? [list.replace(/[\s,]+$/, "")] : []), ...missing].join(",");
	};
	const { NO_PROXY, no_proxy } = environment;
	return { NO_PROXY: withOwn(NO_PROXY || no_proxy || ""), no_proxy: withOwn(no_proxy || NO_PROXY || "") };
}
