import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PalimpsestError } from "../../../errors.ts";
import type { Address } from "../parse-address.ts";

/**
 * Starts to listen. Answers with the port, which differs from the one asked for where that is 0.
 *
 * @throws PalimpsestError `invalid_argument` where the address cannot be had.
 */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
	server.listen(port, host);
	try {
		await once(server, "listening");
	} catch (error) {
		throw new PalimpsestError("invalid_argument", reason(error, host, port), { cause: error });
	}
	return (server.address() as AddressInfo).port;
}

function reason(error: unknown, host: string, port: number): string {
	const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
	if (code === "EADDRINUSE") {
		return `Port ${port} of ${host} is in use. End the program that holds it, or choose another port; 0 takes a free one.`;
	}
	if (code === "EACCES") return `Port ${port} needs rights that this process has not. Choose one from 1024 on.`;
	return `Cannot listen on port ${port} of ${host} (${code}). Choose another address, such as 127.0.0.1.`;
}
