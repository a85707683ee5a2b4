import type { WritableHost } from "./enter-server.ts";
import type { Host } from "./host.ts";

/** Whether a host's configuration is one that we can change without harm; YAML would lose its comments. */
export function isWritable(host: Host): host is WritableHost {
	return host.format !== "yaml";
}
