import { once } from "node:events";
import { createServer } from "node:net";
import { parseAddress } from "../../mcp/transports/parse-address.ts";
import type { Finding } from "./finding.ts";

/** Whether the address of `palimpsest serve --http` is free. */
export async function checkPort(address: string | true): Promise<Finding> {
	const { host, port } = parseAddress(address);
	const place = `${host}:${port}`;
	const server = createServer();
	try {
		server.listen({ host, port, exclusive: true });
		await once(server, "listening");
		return { name: "port", state: "ok", found: `${place} is free` };
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		const found = code === "EADDRINUSE" ? `${place} is taken` : `${place} cannot be listened at: ${code}`;
		const advice = "It may be a server of ours that runs already; else choose another: palimpsest serve --http :PORT.";
		return { name: "port", state: "warning", found, advice };
	} finally {
		server.close();
	}
}
