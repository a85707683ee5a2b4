import type { HookHost } from "../../src/hosts/host.ts";
import { hookHosts } from "../../src/hosts/hosts.ts";

export function hookHost(name: string): HookHost {
	const host = hookHosts.find((one) => one.name === name);
	if (!host) throw new Error(`There is no hook for ${name}.`);
	return host;
}
