import { BlockList, isIP, isIPv6 } from "node:net";
import { PalimpsestError } from "../../errors.ts";

export interface Address {
	readonly host: string;
	readonly port: number;
}

const defaultAddress: Address = { host: "127.0.0.1", port: 8765 };

/** `HOST:PORT`, `HOST`, `PORT` or `:PORT`; a missing part and `true` mean the default. Throws `invalid_argument`. */
export function parseAddress(text: string | true): Address {
	if (text === true) return defaultAddress;
	if (isIPv6(text)) return { ...defaultAddress, host: text };
	const whole = /^\d+$/.test(text) ? `:${text}` : text;
	const parts = /^(?:\[(?<address>[^\]]+)\]|(?<name>[a-z0-9._-]*))(?::(?<digits>\d{1,5}))?$/i.exec(whole)?.groups;
	const { address, name, digits } = parts ?? {};
	const port = digits === undefined ? defaultAddress.port : Number(digits);
	const isAddress = address === undefined ? Boolean(name || digits) : isIPv6(address);
	if (isAddress && port <= 65_535) return { host: address ?? (name?.toLowerCase() || defaultAddress.host), port };
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
