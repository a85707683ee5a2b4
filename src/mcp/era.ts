import { isJsonObject } from "../conversation/json.ts";

// Since revision 2026-07-28 there is no handshake: each request names its revision, in its body and over HTTP in a header.
const revisionMember = "io.modelcontextprotocol/protocolVersion";

/** Whether the body is, or holds, a message of the era without a handshake. Its SDK checks the revision itself. */
export function namesRevision(body: unknown): boolean {
	const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
	return messages.some((message) => {
		const params = isJsonObject(message) ? message.params : undefined;
		return isJsonObject(params) && isJsonObject(params._meta) && revisionMember in params._meta;
	});
}

/** Whether a request over HTTP is of that era by its header. Earlier revisions send theirs after the handshake. */
export function headerNamesRevision(header: string | string[] | undefined): boolean {
	return typeof header === "string" && header.trim() >= "2026";
}
