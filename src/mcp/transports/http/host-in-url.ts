import { isIPv6 } from "node:net";

/** A host as it stands in a URL and in a Host header: IPv6 in brackets and in its shortest form. */
export function hostInUrl(host: string): string {
	return new URL(`http://${isIPv6(host) ? `[${host}]` : host}`).hostname;
}
