import { refusedLaunch } from "./base-url.ts";
import type { Host } from "./host.ts";

// Programs whose requests go to a service of their maker, in a form of its own.

export const auggie = withOwnService({ name: "auggie", title: "Auggie", command: "auggie" });

export const amp = withOwnService({ name: "amp", title: "Amp", command: "amp" });

function withOwnService({
	command,
	...host
}: {
	readonly name: string;
	readonly title: string;
	readonly command: string;
}): Host {
	const point = async (): Promise<never> => {
		throw refusedLaunch(host.title, "it sends everything to its maker's service, and takes no address of a provider");
	};
	return { ...host, launch: { command, point } };
}
