import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of this machine on which nobody listens. It is none of those that systems give to whoever asks for any (from
 * 32768, RFC 6335 has 49152): nobody else is given it before it is used, or while what uses it is started again.
 */
export async function freePort(): Promise<number> {
	for (;;) {
		const server = createServer().listen(randomInt(20_000, 32_768), "127.0.0.1");
		const address = await once(server, "listening").then(
			() => server.address(),
			() => null,
		);
		server.close();
		if (address !== null && typeof address !== "string") return address.port;
	}
}
