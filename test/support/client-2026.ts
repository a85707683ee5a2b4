import { Client, type ClientOptions } from "@modelcontextprotocol/client";

export const revision = "2026-07-28";
export const modes = ["legacy", "auto", { pin: revision }] as const;
export type Mode = (typeof modes)[number];

/** A client of the newer SDK, which speaks both eras; by default it insists on the newer one. */
export function newerClient(mode: Mode = { pin: revision }, options: ClientOptions = {}): Client {
	return new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode }, ...options });
}

/** What each request of that era carries, for requests by hand. */
export const envelope = {
	_meta: {
		"io.modelcontextprotocol/protocolVersion": revision,
		"io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
		"io.modelcontextprotocol/clientCapabilities": {},
	},
};
