import { isIPv6 } from "node:net";
import { PalimpsestError } from "../../errors.ts";

/** Where a server listens. */
export interface Address {
	/** A name or an IP address; IPv6 without brackets. */
	readonly host: string;
	/** 0 takes a free one. */
	readonly port: number;
}

const defaultAddress: Address = { host: "127.0.0.1", port: 8765 };

/**
 * Reads `HOST:PORT`, `HOST`, `PORT` or `:PORT`; what is left out, and `true`, stand for the default, 127.0.0.1:8765. It
 * says nothing about which addresses may be served: `serveHttp` does.
 *
 * @throws PalimpsestError `invalid_argument` for anything else.
 */
export function parseAddress(text: string | true): Address {
	if (text === true) return defaultAddress;
	if (isIPv6(text)) return { ...defaultAddress, host: text };
	const parts = /^(?:\[(?<address>[^\]]+)\]|(?<name>[a-z0-9._-]*))(?::(?<port>\d{1,5}))?$/i.exec(text)?.groups;
	const { address, name, port } = parts ?? {};
	if (name && !port && /^\d+$/.test(name)) return { ...defaultAddress, port: portNumber(name, text) };
	if ((address !== undefined && !isIPv6(address)) || (!address && !name && !port)) throw invalid(text);
	return {
		host: address ?? (name?.toLowerCase() || defaultAddress.host),
		port: port === undefined ? defaultAddress.port : portNumber(port, text),
	};
}

function portNumber(digits: string, text: string): number {
	const port = Number(digits);
	if (port > 65_535) throw invalid(text);
	return port;
}

function invalid(text: string): PalimpsestError {
	return new PalimpsestError(
		"invalid_argument",
		`Expected an address such as 127.0.0.1:8765, [::1]:8765, localhost or 8765, with a port up to 65535; got ${JSON.stringify(text)}.`,
	);
}
