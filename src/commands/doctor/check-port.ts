import { once } from "node:events";
import { createServer } from "node:net";
import { parseAddress } from "../../mcp/http/address.ts";
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
		const another = "palimpsest serve --http :PORT";
		if (code === "EADDRINUSE") {
			const advice = `It may be a server of ours that runs already; else choose another: ${another}.`;
			return { name: "port", state: "warning", found: `${place} is taken`, advice };
		}
		const advice = `Choose an address of this machine, and a port that its user may open: ${another}.`;
		return { name: "port", state: "warning", found: `${place} cannot be listened at: ${code}`, advice };
	} finally {
		server.close();
	}
}
