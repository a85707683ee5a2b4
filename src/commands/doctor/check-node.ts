import type { Finding } from "./finding.ts";

/** The oldest major version of Node.js that the package says it runs on. */
const oldest = 20;

/** Whether this Node.js is one that the package runs on. */
export function checkNode(version: string): Finding {
	const found = `Node.js ${version}`;
	if (Number.parseInt(version, 10) >= oldest) return { name: "node", state: "ok", found };
	return { name: "node", state: "failed", found, advice: `Install Node.js ${oldest} or later.` };
}
