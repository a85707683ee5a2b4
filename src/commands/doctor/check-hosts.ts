import type { HostSurroundings } from "../../hosts/host.ts";
import { hostStates } from "../../hosts/host-state.ts";
import { hosts } from "../../hosts/hosts.ts";
import type { Finding } from "./finding.ts";

/** Which hosts are on this machine, and which of them know the server. */
export async function checkHosts(where: HostSurroundings): Promise<Finding> {
	const states = await Promise.all(
		hosts.map(async (host) => (await hostStates(host, where)).map(({ state }) => ({ host: host.name, state }))),
	);
	const present = states.flat().filter(({ state }) => state !== "no file");
	const found = present.map(({ host, state }) => `${host}: ${state}`).join(", ");
	if (present.some(({ state }) => state === "installed")) return { name: "hosts", state: "ok", found };
	const [first] = present;
	return {
		name: "hosts",
		state: "warning",
		found: found || "no configuration of a host was found",
		advice: `palimpsest install ${first?.host ?? "HOST"} enters the server; palimpsest install lists the hosts.`,
	};
}
