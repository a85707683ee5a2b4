import { createHash } from "node:crypto";
import { checkNamespace } from "../../archive/namespace.ts";

/**
 * The archive's namespace of a principal, within the operator's. What makes it this principal's alone is 128 bits of
 * SHA-256 over both names; the words before are for people who look at folders.
 */
export function namespaceOfPrincipal(operators: string, principal: string): string {
	const hash = createHash("sha256")
		.update(JSON.stringify([operators, principal]))
		.digest("hex")
		.slice(0, 32);
	const name = principal.slice(principal.lastIndexOf(" ") + 1);
	const words = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	return checkNamespace(`${operators.slice(0, 14)}-${words.slice(0, 16)}-${hash}`);
}
