import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { OversizedLine } from "./line-reader.ts";

const id = String.raw`"id"\s*:\s*("[^"\\]*"|-?\d+)`;
/** The members of a message that are no more than a word. */
const word = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"`;

const idAtStart = new RegExp(String.raw`^\s*\{\s*(?:${word}\s*,\s*)*${id}\s*,`);
const idAtEnd = new RegExp(String.raw`[^\\]${id}\s*(?:,\s*${word}\s*)*\}\s*$`);
const response = new RegExp(String.raw`^\s*\{\s*(?:(?:${word}|${id})\s*,\s*)*"(?:result|error)"\s*:`);

/**
 * The id of a request of which only both ends are known: clients write it before or after what is large. `undefined`
 * where it does not stand there, and for a response, which nobody waits to see answered.
 */
export function requestIdOf({ head, tail }: Pick<OversizedLine, "head" | "tail">): RequestId | undefined {
	if (response.test(head)) return undefined;
	const found = (idAtStart.exec(head) ?? idAtEnd.exec(tail))?.[1];
	return found === undefined ? undefined : (JSON.parse(found) as RequestId);
}
