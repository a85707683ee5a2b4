import { once } from "node:events";
import type { IncomingHttpHeaders, Server } from "node:http";
import { type AddressInfo, BlockList, isIP, isIPv6 } from "node:net";
import { PalimpsestError } from "../../errors.ts";

export interface Address {
	readonly host: string;
	readonly port: number;
}

const defaultAddress: Address = { host: "127.0.0.1", port: 8765 };

/** `HOST:PORT`, `HOST`, `PORT` or `:PORT`; a missing part and `true` mean the default. Throws `invalid_argument`. */
export function parseAddress(text: string | true, defaults = defaultAddress): Address {
	if (text === true) return defaults;
	if (isIPv6(text)) return { ...defaults, host: text };
	const whole = /^\d+$/.test(text) ? `:${text}` : text;
	const parts = /^(?:\[(?<address>[^\]]+)\]|(?<name>[a-z0-9._-]*))(?::(?<digits>\d{1,5}))?$/i.exec(whole)?.groups;
	const { address, name, digits } = parts ?? {};
	const port = digits === undefined ? defaults.port : Number(digits);
	const isAddress = address === undefined ? Boolean(name || digits) : isIPv6(address);
	if (isAddress && port <= 65_535) return { host: address ?? (name?.toLowerCase() || defaults.host), port };
	const expected = "an address such as 127.0.0.1:8765, [::1]:8765, localhost or 8765, with a port up to 65535";
	throw new PalimpsestError("invalid_argument", `Expected ${expected}; got ${JSON.stringify(text)}.`);
}

/** A path is refused, because the older transport gives its clients paths from the root. Throws `invalid_argument`. */
export function parsePublicUrl(text: string): URL {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url;
	const form = "a scheme and a host, with no path, such as https://palimpsest.example.org";
	throw new PalimpsestError("invalid_argument", `Expected the public URL to be ${form}.`);
}

/** A host as in URLs and Host headers: IPv6 in brackets and in its shortest form. */
export function hostInUrl(host: string): string {
	return new URL(`http://${isIPv6(host) ? `[${host}]` : host}`).hostname;
}

/** The host that a Host header names; `undefined` for all but `HOST` and `HOST:PORT` (RFC 9110, section 7.2). */
export function hostOfHeader(header: string): string | undefined {
	// A URL would take a name before `@`, or what follows `/`, `?`, `#` or `\`, for something else than the host.
	const isPlain = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d+)?$/i.test(header) && URL.canParse(`http://${header}`);
	return isPlain ? new URL(`http://${header}`).hostname : undefined;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether a host is this machine only: localhost, 127.0.0.0/8 or ::1, with or without brackets. */
export function isLoopback(host: string): boolean {
	if (host === "localhost") return true;
	const address = host.replace(/^\[(.*)\]$/, "$1");
	const family = isIP(address);
	return family !== 0 && loopback.check(address, family === 6 ? "ipv6" : "ipv4");
}

/** Whether no foreign web page made a browser send a request. Other programs send no Origin, and pass. */
export function isFromOwnPage(headers: IncomingHttpHeaders, publicUrl?: URL): boolean {
	const { origin, "sec-fetch-site": site } = headers;
	// An image or a link makes a browser send a GET without Origin.
	if (origin === undefined) return site !== "cross-site" && site !== "same-site";
	if (origin === publicUrl?.origin) return true;
	if (!URL.canParse(origin)) return false;
	const { protocol, hostname } = new URL(origin);
	return (protocol === "http:" || protocol === "https:") && isLoopback(hostname);
}

/** Returns the port, also for port 0. Throws `invalid_argument` if the address is not available. */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
	try {
		server.listen(port, host);
		await once(server, "listening");
	} catch (cause) {
		const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
		const reasons: Readonly<Record<string, string>> = {
			EADDRINUSE: `Port ${port} of ${host} is in use. Stop the program that uses it, or choose another port; 0 picks a free one.`,
			EACCES: `Port ${port} needs rights that this process does not have. Choose one of 1024 or more.`,
		};
		const other = `Cannot listen on port ${port} of ${host} (${code}). Choose another address, such as 127.0.0.1.`;
		throw new PalimpsestError("invalid_argument", reasons[code] ?? other, { cause });
	}
	return (server.address() as AddressInfo).port;
}
