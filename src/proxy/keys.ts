import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** They keep other users of this machine from a proxy's pages, and its clients from other servers on its port. */
export interface ProxyKeys {
	/** Opens the pages: in their address, in a cookie, or as a bearer token. */
	readonly page: string;
	/** Proves to clients of the same user that they talk to this proxy. Never sent. */
	readonly secret: string;
}

/**
 * Without `page` a key of this run alone: once the proxy has ended, another user can take its port, and a browser that still shows
 * the page sends the key there.
 */
export function createKeys(page = newKey()): ProxyKeys {
	return { page, secret: newKey() };
}

/** Enough for 256 bits, and only what stands in a URL, a cookie and a header as it is. */
export const keyForm = /^[\w-]{32,200}$/;

function newKey(): string {
	return randomBytes(32).toString("base64url");
}

/** The answer to a challenge that only a proxy with this secret, and its clients, can give. */
export function proofOf({ secret }: ProxyKeys, challenge: string): string {
	return createHmac("sha256", secret).update(challenge).digest("base64url");
}

/** The address that people open. */
export function pageAddress(address: string, { page }: ProxyKeys): string {
	return `${address}/palimpsest/?key=${page}`;
}

/** The keys that a request for a page gives. Browsers send a cookie to every port of a host, so its name has the port. */
export function pageKeysIn({
	headers,
	url = "/",
	socket,
}: Pick<IncomingMessage, "headers" | "url" | "socket">): string[] {
	const name = `${cookieName(socket.localPort ?? 0)}=`;
	const cookies = (headers.cookie ?? "").split(/; ?/).filter((one) => one.startsWith(name));
	const given = [
		/^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1],
		new URLSearchParams(url.split("?", 2)[1] ?? "").get("key"),
		...cookies.map((one) => one.slice(name.length)),
	];
	return given.filter((one) => typeof one === "string");
}

/** Keeps the key, for the pages alone, in the browser that opened their address. */
export function pageCookie({ socket }: Pick<IncomingMessage, "socket">, key: string): string {
	const secure = "encrypted" in socket ? "; Secure" : "";
	return `${cookieName(socket.localPort ?? 0)}=${key}; Path=/palimpsest; HttpOnly; SameSite=Strict${secure}`;
}

function cookieName(port: number): string {
	return `palimpsest-${port}`;
}

/** In a time that tells nothing of the texts. */
export function isSame(one: string, other: string): boolean {
	const [first, second] = [one, other].map((text) => createHash("sha256").update(text).digest());
	return timingSafeEqual(first as Buffer, second as Buffer);
}
